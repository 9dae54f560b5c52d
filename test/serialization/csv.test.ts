import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnsOfValues, csvHeader, csvRowWriter, csvText } from '../../src/serialization/csv.ts';
import { rewriteJson } from '../../src/serialization/formats.ts';
import { parseCsv, withoutMark } from '../support/csv.ts';

describe('a cell of CSV', () => {
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
  ])('is of the text %j written as %j', (text, cell) => {
    expect(csvText(text)).toBe(cell);
  });

  test('never begins a formula, and can be read back, whatever the text', () => {
    const risky = fc.string({
      unit: fc.constantFrom('=', '+', '-', '@', '＝', '＠', '\t', '\r', '\n', "'", '"', ',', '1', '.', 'a', 'é', '😀'),
    });
    fc.assert(
      fc.property(fc.oneof(risky, fc.string({ unit: 'grapheme' })), fc.string(), (text, other) => {
        const { rows } = parseCsv(`a,b\r\n${csvText(text)},${csvText(other)}\r\n`);
        expect(rows[0]?.map(withoutMark)).toEqual([text, other]);
        const [cell] = rows[0] as string[];
        if (/^[=+\-@\t\r\n＝＋－＠]/.test(cell as string)) expect(Number.isFinite(Number(cell))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('rows of CSV', () => {
  test('of values without a plan have the columns that come up, nested ones by their path', () => {
    const values = [{ a: 1, b: { c: null, d: [1, 'x'] } }, { e: true, b: { c: 'x' } }, 'bare'];
    const columns = columnsOfValues(values);
    expect(csvHeader(columns)).toBe('a,b.c,b.d,e,value\r\n');
    expect(columnsOfValues(['a', 2])).toEqual([['value']]);
    expect(values.map(csvRowWriter(columns)).join('')).toBe('1,,"[1,""x""]",,\r\n,x,,true,\r\n,,,,bare\r\n');
  });

  test('with one column never are empty lines', () => {
    expect(rewriteJson('csv', '[{"a":null},{"a":""},{"a":1}]', null)).toBe('a\r\n""\r\n""\r\n1\r\n');
  });
});
