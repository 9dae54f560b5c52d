import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnsOfValues, csvHeader, csvRowWriter, csvText } from '../../src/serialization/csv.ts';
import { compileCsvRowWriter, compilePacedCsvRowWriter } from '../../src/serialization/csv-row-writer.ts';
import { rewriteJson } from '../../src/serialization/formats.ts';
import { compileRowWriter, type PacedRowWriter } from '../../src/serialization/row-writer.ts';
import { parseCsv, withoutMark } from '../support/csv.ts';

/** The characters of Unicode that match an expression. */
function charactersOf(expression: RegExp): string[] {
  const found: string[] = [];
  for (let code = 0; code <= 0xfffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (expression.test(character)) found.push(character);
  }
  return found;
}

/** A number is none. */
function expectNoFormula(cell: string): void {
  const shown = cell.replace(/^[\s\p{Z}\p{Cc}\p{Cf}\p{DI}]+/u, '');
  if (/^[=+\-@＝＋－＠]/.test(shown)) expect(cell).toMatch(/^[+-]?\d[\d.eE+-]*$/);
}

describe('a CSV cell', () => {
  test.each([
    ['plain', 'plain'],
    ['', '""'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['a\r\nb', '"a\r\nb"'],
    [' blank ', ' blank '],
    ['=1+1', "'=1+1"],
    ['+49 30', "'+49 30"],
    ['-', "'-"],
    ['-1-1', "'-1-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
    ['-5', '-5'],
    ['+5', '+5'],
    ['-12.50', '-12.50'],
    ['-1.5e-7', '-1.5e-7'],
    ['-9223372036854775807', '-9223372036854775807'],
    ['＝1+1', "'＝1+1"],
    ['＠SUM(1)', "'＠SUM(1)"],
    ['\n=1', '"\'\n=1"'],
    ["'=1", "''=1"],
    ["'t Hooft", "'t Hooft"],
    ["''", "''"],
    ['\v=1', "'\v=1"],
    ['\f@SUM(1)', "'\f@SUM(1)"],
    ['\0=1', "'\0=1"],
    ['\ufeff=1', "'\ufeff=1"],
    ['\u200b+1+1', "'\u200b+1+1"],
    ['\u00a0=1', "'\u00a0=1"],
    ['\u2028=1', "'\u2028=1"],
    ['\u115f=1', "'\u115f=1"],
    ['\ufe0f=1', "'\ufe0f=1"],
    [' =1', "' =1"],
    [" '=1", "' '=1"],
    [' -5', "' -5"],
    ['\ufefftext', "'\ufefftext"],
    ["'\u0007", "''\u0007"],
    ['a=1', 'a=1'],
    ['é=1', 'é=1'],
    [' a-b', ' a-b'],
  ])('for the text %j is %j', (text, cell) => {
    expect(csvText(text)).toBe(cell);
  });

  /** Every character of some sorts, by which a text may begin that is a formula or hides one. */
  const invisible = charactersOf(/[\s\p{Z}\p{Cc}\p{Cf}\p{DI}]/u);
  const risky = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'=+-@＝＋－＠\'",;1.aé😀'),
      fc.constantFrom(...'\t\r\n\v\f\ufeff\u200b '),
      fc.constantFrom(...invisible),
    ),
    maxLength: 6,
  });

  test('never starts a formula, and can be read back, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(risky, fc.string({ unit: 'grapheme' })), fc.string(), (text, other) => {
        const { rows } = parseCsv(`a,b\r\n${csvText(text)},${csvText(other)}\r\n`);
        expect(rows[0]?.map(withoutMark)).toEqual([text, other]);
        expectNoFormula((rows[0] as string[])[0] as string);
      }),
      { numRuns: 5000 },
    );
  });

  test('is escaped if a formula follows any character that a spreadsheet may strip', () => {
    for (const character of invisible) {
      for (const text of [`${character}=1+1`, `'${character}=1+1`, `${character}'=1+1`, ` ${character}@SUM(1)`]) {
        expect(csvText(text).replace(/^"|"$/g, '')).toBe(`'${text}`);
      }
    }
  });

  test('is the same for values, rows and table columns', () => {
    const kind = { kind: 'string', length: null, fixed: false } as never;
    const fields = ['a', 'b'].map((name, column) => ({ kind: 'value', name, column, value: kind }) as const);
    const object = { presence: null, discriminator: null, variants: [{ type: null, fields }] };
    const columns = [['a'], ['b']];
    const byValue = csvRowWriter(columns);
    const byRow = compileCsvRowWriter(object, columns, 'text');
    fc.assert(
      fc.property(risky, risky, (a, b) => {
        const line = byRow([a, b], [], []);
        expect(line).toBe(byValue({ a, b }));
        for (const cell of parseCsv(`a,b\r\n${line}`).rows[0] ?? []) expectNoFormula(cell ?? '');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('CSV rows', () => {
  test('with lists of rows are the same with pauses, whatever the lists hold and however long they are', () => {
    const kind = { kind: 'string', length: null, fixed: false } as never;
    const many = { kind: 'to-many', name: 'many', source: 0, columns: [0] } as const;
    const value = (column: number) => ({ kind: 'value', name: `c${column}`, column, value: kind }) as const;
    const whole = { presence: null, discriminator: null, variants: [{ type: null, fields: [value(0), many] }] };
    // rows of a class, with an object for code of the model
    const instance = () => ({});
    const other = { presence: 1, discriminator: 1, variants: [{ type: 'a', fields: [many, value(0)], instance }] };
    const item = { presence: null, discriminator: null, variants: [{ type: null, fields: [value(0)] }] };
    const empty = { presence: null, discriminator: null, variants: [{ type: null, fields: [] }] };
    const texts = fc.array(fc.string({ unit: fc.constantFrom(...'a",\r\n=é') }), { maxLength: 5 });
    const key = fc.constantFrom('k', 'none');
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 3 }), key, fc.constantFrom('a', 'b', null), (some, times, owner, type) => {
        const rows = Array.from({ length: times * 100 }, () => some.map((text) => [text])).flat();
        const byKey = [new Map(rows.length > 0 ? [['k', rows]] : [])];
        for (const object of [whole, other]) {
          for (const inner of [item, empty]) {
            const writers = [compileRowWriter(inner, 'text')];
            const columns = object === whole ? [['c0'], ['many']] : [['many']];
            const row = [owner, type];
            const paced = compilePacedCsvRowWriter(object, columns, 'text') as PacedRowWriter;
            const writing = paced(row, byKey, writers, undefined, undefined, [null]);
            let step = writing.next();
            let pauses = 0;
            for (; !step.done; step = writing.next()) pauses++;
            expect(step.value).toBe(compileCsvRowWriter(object, columns, 'text')(row, byKey, writers));
            const isWritten = owner === 'k' && (object === whole || type === 'a');
            expect(pauses).toBe(isWritten ? Math.ceil(rows.length / 128) : 0);
          }
        }
      }),
    );
  });

  test('of values without a plan have every column that occurs, nested ones by their path', () => {
    const values = [{ a: 1, b: { c: null, d: [1, 'x'] } }, { e: true, b: { c: 'x' } }, 'bare'];
    const columns = columnsOfValues(values);
    expect(csvHeader(columns)).toBe('a,b.c,b.d,e,value\r\n');
    expect(columnsOfValues(['a', 2])).toEqual([['value']]);
    expect(values.map(csvRowWriter(columns)).join('')).toBe('1,,"[1,""x""]",,\r\n,x,,true,\r\n,,,,bare\r\n');
  });

  test('with one column are never empty lines', () => {
    expect(rewriteJson('csv', '[{"a":null},{"a":""},{"a":1}]', null)).toBe('a\r\n""\r\n""\r\n1\r\n');
  });
});
