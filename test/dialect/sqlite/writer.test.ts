import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Step } from '../../../src/database/writer.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { sqliteWriter } from '../../../src/dialect/sqlite/writer.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('writer');
const children = 50_000;
let files = 0;
let dialect: SqliteFileDialect;

const step = (text: string, parameters: Step['parameters'] = []): Step => ({
  statement: { name: text, text, wide: false },
  parameters,
});
const remove = step('delete from parent where id = ?1 returning id', [1]);
const count = (table: string) => dialect.read((db) => db.prepare(`select count(*) as n from ${table}`).get()?.n);

beforeEach(async () => {
  dialect = new SqliteFileDialect(join(temporary.directory, `${files++}.db`));
  await dialect.write((db) =>
    db.exec(`create table parent (id integer primary key, name text);
      create table child (id integer primary key, parent_id integer references parent on delete cascade);
      create index child_parent on child (parent_id);
      insert into parent values (1, 'one'), (2, 'two');
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${children}) insert into child select i, 1 from n`),
  );
});
afterEach(async () => {
  vi.restoreAllMocks();
  await dialect.destroy();
});
afterAll(temporary.remove);

test('a change that cascades to many rows does not block the main thread', async () => {
  let turns = 0;
  let isOver = false;
  const removed = sqliteWriter(dialect)
    .change([remove, step('select ?1 + 1', ([row]) => [row?.[0]])])
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    turns++;
    await nextTurn();
  }
  expect(await removed).toEqual([[2]]);
  expect(turns).toBeGreaterThan(20);
  expect([await count('parent'), await count('child')]).toEqual([1, 0]);
});

test('a change that is expected to take long does not block the main thread', async () => {
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)';
  const insert = step(`${numbers} insert into parent select i + 10, 'new' from n returning id`);
  let turns = 0;
  let isOver = false;
  const inserted = sqliteWriter(dialect)
    .change([{ ...insert, mayTakeLong: true }, step('select 1')])
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    turns++;
    await nextTurn();
  }
  expect(await inserted).toEqual([[1]]);
  expect(turns).toBeGreaterThan(20);
  expect(await count('parent')).toBe(300_002);
});

test('a change that fails in a thread is rolled back, and the next one succeeds', async () => {
  const writer = sqliteWriter(dialect);
  await expect(writer.change([remove, step("insert into parent values (2, 'again') returning id")])).rejects.toMatchObject({
    errcode: 1555,
  });
  expect([await count('parent'), await count('child')]).toEqual([2, children]);
  expect(await writer.change([remove])).toEqual([[1]]);
  expect(await count('child')).toBe(0);
});

test('changes in a thread and on the main thread run one after the other', async () => {
  const writer = sqliteWriter(dialect);
  const rename = step("update parent set name = name || '!' where id = 2 returning name");
  const names = await Promise.all([writer.change([rename]), writer.change([remove]), writer.change([rename])]);
  expect(names).toEqual([[['two!']], [[1]], [['two!!']]]);
});

test('a change of one row uses no thread', async () => {
  const posted = vi.spyOn(Worker.prototype, 'postMessage');
  await sqliteWriter(dialect).change([step("update parent set name = 'other' where id = 2 returning id")]);
  await sqliteWriter(dialect).change([step('insert into child (parent_id) values (2) returning id')]);
  expect(posted).not.toHaveBeenCalled();
});

test('a read-only database also rejects changes in threads', async () => {
  await dialect.refuseWrites();
  await expect(sqliteWriter(dialect).change([remove])).rejects.toThrow(/readonly/);
  expect(await count('child')).toBe(children);
});
