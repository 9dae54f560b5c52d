import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { expect, test } from 'vitest';
import { sqliteRows } from '../../../src/dialect/sqlite/row-source.ts';

/** The rows as SQLite reads them, with the type of each first value. */
async function readBack(rows: readonly (readonly unknown[])[]): Promise<unknown[]> {
  const { params, sql } = await sqliteRows.of(
    rows[0]?.map(() => 'any') ?? [],
    rows.map((row) => [...row]),
  );
  const db = new DatabaseSync(':memory:');
  const statement = db.prepare(`select typeof(s.c0) as type, s.* from ${sql} as s`);
  statement.setReadBigInts(true);
  const read = statement.all(...(params as SQLInputValue[])).map((row) => Object.values(row));
  db.close();
  return read;
}

test.each([
  ['an integer', 9223372036854775807n, 'integer'],
  ['a small double', 5e-324, 'real'],
  ['a double of 17 digits', 0.30000000000000004, 'real'],
  ['a double without a fraction', 1e17, 'real'],
  ['infinity', Number.NEGATIVE_INFINITY, 'real'],
  ['a text', 'Ἀθῆναι "\\" 😀\n', 'text'],
  ['a text that is JSON', '{"a":[1]}', 'text'],
  ['bytes', new Uint8Array([0, 255, 7]), 'blob'],
  ['null', null, 'null'],
])('%s is read as it would be bound', async (_, value, type) => {
  expect(await readBack([[value, 'x']])).toEqual([[type, value, 'x']]);
});

test('a column can hold bytes in some rows only', async () => {
  const bytes = new Uint8Array([1]);
  expect(await readBack([[bytes], ['01'], [null]])).toEqual([
    ['blob', bytes],
    ['text', '01'],
    ['null', null],
  ]);
});

test('any number of rows makes the same statement, with one parameter', async () => {
  const of = (count: number) =>
    sqliteRows.of(
      ['integer', 'text'],
      Array.from({ length: count }, (__, i) => [BigInt(i), 'x']),
    );
  expect((await of(1000)).sql).toBe((await of(1)).sql);
  expect((await of(1000)).params).toHaveLength(1);
  expect(await readBack([[2n], [1n]])).toEqual([
    ['integer', 2n],
    ['integer', 1n],
  ]);
});
