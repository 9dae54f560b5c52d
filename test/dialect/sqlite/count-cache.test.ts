import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Executor, Statement } from '../../../src/database/executor.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { withCountCache } from '../../../src/dialect/sqlite/reads/count-cache.ts';
import { makeTemporary, type Temporary } from '../../support/temporary.ts';

const statement = (text: string): Statement => ({ name: text, text, wide: false });
const all = statement('select count(*) from item');
const above = statement('select count(*) from item where id > ?1');
const lately = statement("select count(*) from item where at < datetime('now')");

let temporary: Temporary;
let other: DatabaseSync;
let dialect: SqliteFileDialect;
let executor: Executor;
let sent: string[];

beforeEach(() => {
  temporary = makeTemporary('counts');
  const file = `${temporary.directory}/a.db`;
  other = new DatabaseSync(file);
  other.exec("pragma journal_mode = wal; create table item (id integer primary key, at text default '2000-01-01')");
  dialect = new SqliteFileDialect(file);
  sent = [];
  executor = withCountCache(
    {
      format: 'native',
      rows: (given, parameters) => {
        sent.push(given.text);
        return dialect.read((db) => {
          const prepared = db.prepare(given.text);
          prepared.setReturnArrays(true);
          return prepared.all(...(parameters as never[])) as unknown as unknown[][];
        });
      },
      underWay: () => 0,
      close: async () => undefined,
    },
    dialect,
  );
});
afterEach(async () => {
  other.close();
  await dialect.createDriver().destroy();
  temporary.remove();
});

const count = async (given: Statement, ...parameters: unknown[]) => (await executor.rows(given, parameters))[0]?.[0];

test('a count is cached until any connection commits', async () => {
  for (let i = 0; i < 3; i++) expect(await count(all)).toBe(0);
  expect(sent).toHaveLength(1);
  other.exec('insert into item default values');
  for (let i = 0; i < 3; i++) expect(await count(all)).toBe(1);
  expect(sent).toHaveLength(2);
  await dialect.write((db) => db.exec('insert into item default values'));
  for (let i = 0; i < 3; i++) expect(await count(all)).toBe(2);
  expect(sent).toHaveLength(3);
});

test('uncommitted changes and rollbacks do not invalidate a cached count', async () => {
  expect(await count(all)).toBe(0);
  other.exec('begin; insert into item default values');
  expect(await count(all)).toBe(0);
  other.exec('rollback');
  expect(await count(all)).toBe(0);
  expect(sent).toHaveLength(1);
});

test('counts are cached separately for different parameters', async () => {
  other.exec('insert into item default values; insert into item default values');
  expect(await count(above, 0)).toBe(2);
  expect(await count(above, 1)).toBe(1);
  expect(await count(above, 0)).toBe(2);
  expect(sent).toHaveLength(2);
});

test('only counts that depend on nothing but rows are cached', async () => {
  for (let i = 0; i < 2; i++) expect(await count(lately)).toBe(0);
  for (let i = 0; i < 2; i++) await executor.rows(statement('select id from item'), []);
  expect(sent).toHaveLength(4);
});

test('a commit during a count is visible to the next count', async () => {
  const first = count(all);
  other.exec('insert into item default values');
  expect([0, 1]).toContain(await first);
  expect(await count(all)).toBe(1);
});
