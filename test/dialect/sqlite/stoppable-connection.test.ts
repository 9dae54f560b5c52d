import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openToRead, openToWrite } from '../../../src/dialect/sqlite/open-file.ts';
import { planRead } from '../../../src/dialect/sqlite/reads/read-plan.ts';
import { sqliteCatalogue } from '../../../src/dialect/sqlite/schema/catalogue.ts';
import { isSkipped, StoppableConnection, Stopped } from '../../../src/dialect/sqlite/stoppable-connection.ts';
import { replay } from '../../support/random.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('stoppable');
const file = join(temporary.directory, 'app.db');
const people = 300;
let writer: DatabaseSync;
let plain: DatabaseSync;
let stoppable: StoppableConnection;

beforeAll(() => {
  writer = openToWrite(file);
  writer.exec(`create table center (id integer primary key, name text collate nocase);
    create table person (id integer primary key, name text, "odd ""name" text, center_id integer references center);
    create index person_center on person (center_id);
    create table part (course text, person_id integer, primary key (course, person_id)) without rowid;
    create view grown_up as select id, name from person where id > 20;
    insert into center select value, 'Center ' || value from json_each('[1,2,3,4,5]');
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${people})
      insert into person select i, 'Person ' || i, 'odd ' || i, 1 + i % 5 from n;
    insert into part select 'c' || (id % 7), id from person`);
  plain = openToRead(file);
  stoppable = new StoppableConnection(file);
});

afterAll(() => {
  stoppable.close();
  plain.close();
  writer.close();
  temporary.remove();
});

const planOf = (text: string) => planRead(text, plain, stoppable);
const rowsOn = (db: DatabaseSync, text: string) => db.prepare(text).all();

const conditions = [
  'p.id > 7',
  'p.id = 12',
  "p.name like '%1%'",
  `p."odd ""name" = 'odd 3'`,
  'p.center_id = 2',
  "p.id in (select person_id from part where course = 'c3')",
  'p.id in (select value from json_each(\'[1,5,"x",40]\'))',
  "exists (select 1 from center as e where e.id = p.center_id and e.name = 'CENTER 3')",
  'p.center_id in (select center_id from person where id < 3)',
];
const joins = [
  '',
  ' left join center as c on c.id = p.center_id',
  ' inner join center as c on c.id = p.center_id',
  ' left join part as t on t.person_id = p.id left join center as c on c.id = p.center_id',
  ' inner join grown_up as g on g.id = p.id',
];
const statements = fc
  .record({
    columns: fc.constantFrom('p.*', 'p.id, p.name', 'p.center_id', 'count(*) as n', 'distinct p.center_id'),
    join: fc.constantFrom(...joins),
    where: fc.subarray(conditions, { maxLength: 3 }),
    group: fc.constantFrom('', ' group by p.center_id'),
    order: fc.constantFrom('', ' order by p.id', ' order by p.name desc, p.id'),
    limit: fc.constantFrom('', ' limit 5', ' limit 3 offset 4'),
  })
  .map(({ columns, group, join, limit, order, where }) => {
    const condition = where.length > 0 ? ` where ${where.join(' and ')}` : '';
    // the order of rows is told only where it is asked for
    return `select ${columns} from person as p${join}${condition}${group}${order}${order === '' ? '' : limit}`;
  });

/** How often a statement could have been stopped. */
function looksAt(text: string): number {
  const looks = vi.spyOn(performance, 'now');
  stoppable.within(60_000, () => rowsOn(stoppable.db, text));
  const { length } = looks.mock.calls;
  looks.mockRestore();
  // the first is to begin
  return length - 1;
}

/** Rows as texts in order, as a statement without an order may give them in any. */
const asSet = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();

describe('a connection with stoppable statements', () => {
  test('returns the same rows as a plain connection for any statement', () => {
    fc.assert(
      fc.property(statements, (text) => {
        stoppable.hideTables();
        const expected = rowsOn(plain, text);
        const given = stoppable.within(60_000, () => rowsOn(stoppable.db, text));
        expect(text.includes('order by p.id') ? given : asSet(given)).toEqual(
          text.includes('order by p.id') ? expected : asSet(expected),
        );
      }),
      { numRuns: 400, ...replay },
    );
  });

  test('stops any stoppable statement that reads a row', () => {
    const isStopped = (text: string) => {
      try {
        stoppable.within(-1, () => rowsOn(stoppable.db, text));
        return false;
      } catch (error) {
        return error instanceof Stopped;
      }
    };
    fc.assert(
      fc.property(statements, (text) => {
        if (planOf(text).kind === 'stoppable') expect(isStopped(text)).toBe(looksAt(text) > 0);
      }),
      { numRuns: 400, ...replay },
    );
  });

  test.each([
    ["select id from person where name = 'nobody'", people],
    ["select count(*) as n from person where declarest_lower(name) like '%nobody%'", people],
    ["select p.id from person as p where p.id > 10 and p.name like '%nobody%' order by p.name limit 3", people - 10],
    ["select c.id from center as c where exists (select 1 from person as p where p.center_id = c.id and p.name = 'x')", people],
  ])('can stop at about every eleventh row that is read: %s', (text, rows) => {
    expect(planOf(text).kind).toBe('stoppable');
    expect(looksAt(text)).toBeGreaterThanOrEqual(rows / 32);
  });

  test('can stop soon, whatever the gaps between row ids', () => {
    const longest = (start: number, step: number) => {
      const numbers = `select value * ${step} + ${start} as _rowid_ from json_each('${JSON.stringify(Array.from({ length: 2000 }, (_, i) => i))}')`;
      let run = 0;
      let most = 0;
      for (const { skips } of rowsOn(plain, `select ${isSkipped} as skips from (${numbers})`)) {
        run = skips === 0 ? 0 : run + 1;
        most = Math.max(most, run);
      }
      return most;
    };
    const odd = fc.nat(5000).map((n) => 2 * n + 1);
    fc.assert(
      fc.property(fc.nat(2 ** 31), odd, fc.nat(11), (start, step, power) => {
        expect(longest(start, step)).toBeLessThan(32);
        expect(longest(start, 2 ** power)).toBeLessThan(256);
        for (const decimal of [10, 50, 100, 1000]) expect(longest(start, decimal)).toBeLessThan(256);
      }),
      { numRuns: 20, ...replay },
    );
  });

  test('can stop at each row of a table with large rows', () => {
    writer.exec(
      'create table large (id integer primary key, text text); insert into large select id, hex(zeroblob(2000)) from person',
    );
    const text = "select count(*) as n from large where text like '%nothing%'";
    expect(planOf(text).kind).toBe('stoppable');
    expect(looksAt(text)).toBeGreaterThanOrEqual(people);
  });

  test('covers tables created later and sees added columns', () => {
    writer.exec(
      "create table later (id integer primary key); insert into later select id from person; alter table center add column city text default 'X'",
    );
    expect(planOf('select * from later where id > 0').kind).toBe('stoppable');
    expect(() => stoppable.within(-1, () => rowsOn(stoppable.db, 'select * from later'))).toThrow(Stopped);
    expect(rowsOn(stoppable.db, 'select * from center where id = 1')).toEqual([{ id: 1, name: 'Center 1', city: 'X' }]);
  });

  test('rejects writes', () => {
    expect(() => stoppable.db.exec('delete from main.person')).toThrow(/readonly/);
  });
});

describe('the plan of a statement', () => {
  test.each([
    ['select * from person where id = ?', 'lookup'],
    ['select p.*, c.name from person as p left join center as c on c.id = p.center_id where p.id = ?', 'lookup'],
    ["select 1 from part where course = 'c1' and person_id = 1", 'lookup'],
    ['select 1', 'lookup'],
    ["select 1 from sqlite_master where name = 'person'", 'lookup'],
    [
      sqliteCatalogue([
        { schema: null, name: 'person' },
        { schema: null, name: 'center' },
      ]),
      'lookup',
    ],
    ['select count(*) from person', 'count'],
    ['select * from person where center_id = ?', 'stoppable'],
    ['select * from person order by id limit 20', 'stoppable'],
    ['select name from center where id in (select value from json_each(?))', 'stoppable'],
    // a view in place of a joined table cannot be merged into a statement that is distinct
    ['select distinct p.id from person as p left join part as t on t.person_id = p.id', 'any'],
    ['with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select count(*) from n', 'any'],
    ['select rowid from person where name = ?', 'any'],
    // neither of these is covered by a view of ours
    ["select g.id from grown_up as g where g.name = 'nobody'", 'any'],
    ["select i.id from main.person as i where i.name = 'nobody'", 'any'],
  ])('%s is "%s"', (text, kind) => {
    expect(planOf(text).kind).toBe(kind);
  });
});

test('only the owner can read a database file and its WAL and shared-memory files', () => {
  for (const suffix of ['', '-wal', '-shm']) expect(statSync(`${file}${suffix}`).mode & 0o777).toBe(0o600);
});
