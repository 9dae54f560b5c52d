import fc from 'fast-check';
import { expect, test } from 'vitest';
import { operationOf, withPlaceholders } from '../../src/telemetry/query-text.ts';

test('literal values in a statement are replaced, and names are not', () => {
  const rows = [
    [
      `select "t0"."id2" from "thing" as "t0" where "t0"."name" = 'it''s' and id = -12.5e3 limit 20`,
      `select "t0"."id2" from "thing" as "t0" where "t0"."name" = ? and id = ? limit ?`,
    ],
    [
      'select `a1` from `b` where c in (1, 2, 3) and d = $1 and e = ?',
      'select `a1` from `b` where c in (?, …) and d = $1 and e = ?',
    ],
    [
      `insert into x values (E'a\\'b', x'ff', $$dollar's$$, $tag$quoted$tag$, null, true)`,
      'insert into x values (?, …, null, true)',
    ],
    [`select 'open`, 'SELECT'],
    ['begin', 'begin'],
  ];
  for (const [given, expected] of rows) expect(withPlaceholders(given as string)).toBe(expected);
  expect(operationOf(' (select 1)')).toBe('SELECT');
  expect(operationOf('?')).toBe('SQL');
});

test('no string value of a statement remains, whatever its content', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const mark = 'zqzq';
      const quoted = (text: string) => `'${`${mark}${text}`.replaceAll("'", "''")}'`;
      expect(withPlaceholders(`select "a" from "b" where "c" = ${quoted(one)} and "d" = ${quoted(other)}`)).not.toContain(mark);
    }),
  );
});
