import { DatabaseSync, StatementSync } from 'node:sqlite';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Statement } from '../../../src/database/executor.ts';
import { sqliteExecutor } from '../../../src/dialect/sqlite/executor.ts';

function statement(text: string, wide = false): Statement {
  return { name: text, text, wide };
}

function open() {
  const db = new DatabaseSync(':memory:');
  db.exec("create table thing (id integer primary key, name text); insert into thing values (1, 'one'), (2, 'two')");
  const state = { db };
  return { state, executor: sqliteExecutor({ read: async (work) => work(state.db), readers: null, threads: null }) };
}

describe('the SQLite executor', () => {
  afterEach(() => vi.restoreAllMocks());

  test('returns rows as arrays, in column order', async () => {
    const { executor } = open();
    expect(await executor.rows(statement('select name, id, name from thing order by id'), [])).toEqual([
      ['one', 1, 'one'],
      ['two', 2, 'two'],
    ]);
  });

  test('prepares a statement once', async () => {
    const { state, executor } = open();
    const prepare = vi.spyOn(state.db, 'prepare');
    for (let i = 0; i < 5; i++) await executor.rows(statement('select id from thing where id = ?1'), [i]);
    expect(prepare).toHaveBeenCalledTimes(1);
  });

  test('keeps a limited number of prepared statements and evicts the oldest', async () => {
    const { state, executor } = open();
    const prepare = vi.spyOn(state.db, 'prepare');
    for (let i = 0; i < 600; i++) expect(await executor.rows(statement(`select ${i}`), [])).toEqual([[i]]);
    expect(prepare).toHaveBeenCalledTimes(600);
    await executor.rows(statement('select 599'), []);
    expect(prepare).toHaveBeenCalledTimes(600);
    await executor.rows(statement('select 0'), []);
    expect(prepare).toHaveBeenCalledTimes(601);
  });

  test('keeps working after the table of a prepared statement has changed', async () => {
    const { state, executor } = open();
    const read = statement('select name from thing where id = ?1');
    expect(await executor.rows(read, [1])).toEqual([['one']]);
    state.db.exec(
      'alter table thing add column age integer; alter table thing rename column name to title; alter table thing add column name text',
    );
    expect(await executor.rows(read, [1])).toEqual([[null]]);
    state.db.exec("drop table thing; create table thing (name text, id integer); insert into thing values ('anew', 1)");
    expect(await executor.rows(read, [1])).toEqual([['anew']]);
  });

  test('returns integers beyond 2^53 exactly, even if none were expected', async () => {
    const { executor } = open();
    const text = 'select ?1';
    expect(await executor.rows(statement(text), [1n])).toEqual([[1]]);
    expect(await executor.rows(statement(text), [2n ** 63n - 1n])).toEqual([[2n ** 63n - 1n]]);
    expect(await executor.rows(statement('select 1, 0.5', true), [])).toEqual([[1n, 0.5]]);
  });

  test('reports an error and keeps working', async () => {
    const { executor } = open();
    await expect(executor.rows(statement('select id from nowhere'), [])).rejects.toThrow('no such table');
    expect(await executor.rows(statement('select 1'), [])).toEqual([[1]]);
  });

  test('prepares statements again on another connection', async () => {
    const { state, executor } = open();
    const read = statement('select count(*) from thing');
    expect(await executor.rows(read, [])).toEqual([[2]]);
    state.db.close();
    state.db = new DatabaseSync(':memory:');
    state.db.exec('create table thing (id integer)');
    expect(await executor.rows(read, [])).toEqual([[0]]);
  });

  test('releases its prepared statements when it closes', async () => {
    const { state, executor } = open();
    await executor.rows(statement('select 1'), []);
    await executor.close();
    const prepare = vi.spyOn(state.db, 'prepare');
    await executor.rows(statement('select 1'), []);
    expect(prepare.mock.results[0]?.value).toBeInstanceOf(StatementSync);
  });
});
