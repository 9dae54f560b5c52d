import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/dialect/dialect.ts';
import { postgresSyntax } from '../../src/dialect/postgresql/syntax.ts';
import { parametrized } from '../../src/query/rows/parametrized.ts';

const dialect = { sql: postgresSyntax, values: { bindable: (value: unknown) => value } } as unknown as Dialect;

describe('parameters of a mapper query', () => {
  test('are numbered in order, with the types of the literals they replace', () => {
    const query = { sql: 'a = ? and b in (?, ?) or ? is null', params: ['x', 1, 2 ** 40, true] };
    expect(parametrized(query, dialect)).toMatchObject({
      sql: 'a = $1 and b in ($2::int4, $3::int8) or $4::bool is null',
      params: query.params,
    });
  });

  test('are numbered after the preceding parameters of the statement', () => {
    expect(parametrized({ sql: 'a = ?', params: ['x'] }, dialect, 2)).toMatchObject({ sql: 'a = $3', params: ['x'] });
  });

  test('stand in a key with their types, which tells texts apart without their SQL', () => {
    const keyOf = (value: unknown, key?: string) => parametrized({ sql: 'a = ?', params: [value], key }, dialect)?.key;
    expect(keyOf(1, '#1')).toBe(keyOf(2, '#1'));
    expect(new Set([keyOf(1, '#1'), keyOf(1, '#2'), keyOf(2 ** 40, '#1'), keyOf(1)]).size).toBe(4);
    const ofTwo = (params: unknown[]) => parametrized({ sql: 'a = ? or b = ?', params }, dialect)?.key;
    expect(ofTwo([1, 'x'])).not.toBe(ofTwo(['x', 1]));
  });

  test.each([
    ['an escaped mark', 'data \\? ?', ['key']],
    ['the mark of an identifier', '?? = ?', ['a', 1]],
    ['a mark without a parameter', "a = 'why?'", []],
    ['a list', 'a in (?)', [[1, 2]]],
    ['a number that no literal has', 'a = ?', [Number.POSITIVE_INFINITY]],
  ])('are left to the mapper if there is %s', (_, sql, params) => {
    expect(parametrized({ sql, params }, dialect)).toBeNull();
  });
});
