import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withinTransaction } from '../../../src/database/own-transaction.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { replay } from '../../support/random.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('commit-group');
let files = 0;
let dialect: SqliteFileDialect;

beforeEach(async () => {
  dialect = new SqliteFileDialect(join(temporary.directory, `${files++}.db`));
  await dialect.write((db) =>
    db.exec(
      'create table parent (id integer primary key); create table child (id integer primary key, parent_id integer references parent)',
    ),
  );
});
afterEach(async () => {
  vi.restoreAllMocks();
  await dialect.destroy();
});
afterAll(temporary.remove);

const insert = (id: number, parent: number | null = null) =>
  dialect.write((db) => db.prepare('insert into child values (?, ?)').run(id, parent).changes);
const ids = () =>
  dialect.read((db) =>
    db
      .prepare('select id from child order by id')
      .all()
      .map(({ id }) => id),
  );
const outcomes = async (writes: readonly Promise<unknown>[]) => (await Promise.allSettled(writes)).map(({ status }) => status);
/** Makes the database check foreign keys with the commit only, by a table that has such a key. */
const deferChecks = () =>
  dialect.write((db) =>
    db.exec(`create table late (id integer primary key, parent_id integer references parent
      deferrable initially deferred)`),
  );
const commitsOf = (spy: { mock: { calls: unknown[][] } }) => spy.mock.calls.filter(([sql]) => sql === 'commit').length;

test('writes that arrive together share a commit', async () => {
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
  expect(await Promise.all([1, 2, 3, 4, 5].map((id) => insert(id)))).toEqual([1, 1, 1, 1, 1]);
  expect(commitsOf(exec)).toBeLessThan(5);
  expect(await ids()).toEqual([1, 2, 3, 4, 5]);
});

test('a write alone has a transaction without a savepoint', async () => {
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
  await insert(1);
  expect(exec.mock.calls.map(([sql]) => sql)).toEqual(['begin immediate', 'commit']);
});

test('a write that fails takes back its own changes only', async () => {
  const halfway = () =>
    dialect.write((db) => {
      db.exec('insert into child values (7, null)');
      db.exec('insert into child values (1, null)');
    });
  expect(await outcomes([insert(1), halfway(), insert(2)])).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await ids()).toEqual([1, 2]);
});

test('writes of a commit that fails are repeated alone, and only those that fail again are rejected', async () => {
  const { exec } = DatabaseSync.prototype;
  let commits = 0;
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    // of the group, and of the second write
    if (sql === 'commit' && [1, 3].includes(++commits)) throw new Error('the disk is full');
    exec.call(this, sql);
  });
  expect(await outcomes([insert(1), insert(2), insert(3)])).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(commits).toBe(4);
  expect(await ids()).toEqual([1, 3]);
});

test('a write whose foreign key is checked with the commit gets the result of its own check', async () => {
  await deferChecks();
  const late = (sql: string) => dialect.write((db) => db.prepare(sql).run().changes);
  // alone, the first would leave a row without its parent
  const writes = [
    late('insert into late values (1, 7)'),
    late('insert into parent values (7)'),
    late('insert into late values (2, 7)'),
  ];
  expect(await outcomes(writes)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
});

test('writes share commits again when no foreign key is checked with the commit any more', async () => {
  await deferChecks();
  await dialect.write((db) => db.exec('drop table late'));
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
  await Promise.all([1, 2, 3].map((id) => insert(id)));
  expect(commitsOf(exec)).toBeLessThan(3);
});

test('a write that ends the transaction is rejected, and the others are committed', async () => {
  const ending = dialect.write((db) => {
    db.exec('rollback');
    throw new Error('the disk is full');
  });
  expect(await outcomes([insert(1), ending, insert(2)])).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await ids()).toEqual([1, 2]);
});

test('no write is complete before the commit', async () => {
  const reader = new DatabaseSync(dialect.file as string);
  const seen = await Promise.all(
    [1, 2, 3].map(async (id) => {
      await insert(id);
      return reader.prepare('select count(*) as n from child').get()?.n;
    }),
  );
  reader.close();
  expect(seen).toEqual([3, 3, 3]);
});

test('each write runs in the context of its caller', async () => {
  const caller = new AsyncLocalStorage<number>();
  const seen = await Promise.all([1, 2, 3].map((id) => caller.run(id, () => dialect.write(() => caller.getStore()))));
  expect(seen).toEqual([1, 2, 3]);
});

test('a group waits for an open transaction, and a write of the code that holds it fails', async () => {
  await dialect.turn.take();
  const waiting = [insert(1), insert(2)];
  await expect(withinTransaction(() => insert(3))).rejects.toThrow(/waits for its own transaction/);
  expect(dialect.writesUnderWay).toBeGreaterThan(0);
  dialect.turn.give();
  await Promise.all(waiting);
  expect(await ids()).toEqual([1, 2]);
});

test('random writes have the outcomes and the rows of their order', async () => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: 12 }), async (numbers) => {
      const base = 100 * ++round;
      const results = await outcomes(numbers.map((number) => insert(base + number)));
      expect(results).toEqual(numbers.map((number, i) => (numbers.indexOf(number) === i ? 'fulfilled' : 'rejected')));
      const wanted = [...new Set(numbers)].sort((a, b) => a - b).map((number) => base + number);
      expect((await ids()).filter((id) => Number(id) > base)).toEqual(wanted);
    }),
    { numRuns: 20, ...replay },
  );
});
