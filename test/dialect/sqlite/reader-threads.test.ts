import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Statement } from '../../../src/database/executor.ts';
import { sqliteExecutor } from '../../../src/dialect/sqlite/executor.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { NoThreads, ReaderThreads } from '../../../src/dialect/sqlite/reader-threads.ts';
import { isUnavailable } from '../../../src/response/problem-document.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('threads');
let files = 0;
let file: string;
let writer: DatabaseSync;

beforeEach(() => {
  file = join(temporary.directory, `${files++}.db`);
  writer = new DatabaseSync(file);
  writer.exec('pragma journal_mode = wal; create table thing (id integer primary key, name text)');
});
afterEach(() => {
  vi.restoreAllMocks();
  writer.close();
});
afterAll(temporary.remove);

function statement(text: string, wide = false): Statement {
  return { name: text, text, wide };
}

const short = statement('select 1');
const counting =
  'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1) select count(*), (select count(*) from thing) from n';
/** Takes as long as the number that it is given says: a million is a few tenths of a second. */
const counts = statement(counting);
const long = 2_000_000n;

/** A database in which a statement may take long. */
function fill(): void {
  writer.exec('create table filler as select zeroblob(20000000) as content');
}

describe('threads that read', () => {
  const open = (timeout = 0) => new ReaderThreads(file, timeout);

  test('give what a connection gives, blobs and integers beyond 2^53 included', async () => {
    const threads = open();
    const text = "select 1, 0.5, null, 'ä', x'00ff', 9007199254740993, ?1, ?2";
    const parameters = [2n ** 63n - 1n, new Uint8Array([1, 2])];
    const { rows } = await threads.rows(statement(text), parameters, 'arrays');
    expect(rows).toEqual([
      [1n, 0.5, null, 'ä', new Uint8Array([0, 255]), 9007199254740993n, 2n ** 63n - 1n, new Uint8Array([1, 2])],
    ]);
    expect((await threads.rows(statement('select 1, 2.5', true), [], 'arrays')).rows).toEqual([[1n, 2.5]]);
    expect((await threads.rows(statement('select id from thing'), [], 'arrays')).rows).toEqual([]);
    await threads.close();
  });

  test('give rows as objects where that is asked for, as the mapper reads them', async () => {
    const threads = open();
    const text = "select 1 as a, 9007199254740993 as b, x'00ff' as c, null as d, 2 as a";
    for (let i = 0; i < 2; i++) {
      const { rows } = await threads.rows(statement(text), [], 'named');
      expect(rows).toEqual([{ a: 2, b: '9007199254740993', c: new Uint8Array([0, 255]), d: null }]);
    }
    await threads.close();
  });

  test('see what was committed before they were asked', async () => {
    const threads = open();
    const count = statement('select count(*) from thing');
    for (let i = 0; i < 50; i++) {
      expect((await threads.rows(count, [], 'arrays')).rows).toEqual([[i]]);
      writer.exec("insert into thing (name) values ('x')");
    }
    await threads.close();
  });

  test('write nothing', async () => {
    const threads = open();
    await expect(threads.rows(statement("insert into thing values (1, 'x')"), [], 'arrays')).rejects.toThrow('readonly');
    await threads.close();
  });

  test('tell an error as the connection would, and go on', async () => {
    const threads = open();
    const failing = statement('select id from nowhere');
    const told = await threads.rows(failing, [], 'arrays').catch((error: unknown) => error);
    let thrown: unknown;
    try {
      writer.prepare(failing.text);
    } catch (error) {
      thrown = error;
    }
    expect(told).toBeInstanceOf(Error);
    expect(told).toMatchObject({ message: (thrown as Error).message, code: 'ERR_SQLITE_ERROR', errcode: 1 });
    await expect(threads.rows(short, [Symbol('not to be sent')], 'arrays')).rejects.toThrow();
    expect((await threads.rows(short, [], 'arrays')).rows).toEqual([[1]]);
    await threads.close();
  });

  test('are no more than two, whatever is asked', async () => {
    const threads = open();
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all(Array.from({ length: 30 }, () => threads.rows(counts, [10_000n], 'arrays')));
    expect(new Set(started.mock.contexts).size).toBe(2);
    await threads.close();
  });

  test('that end unexpectedly fail what they were doing as unavailable; others do what was waiting', async () => {
    const threads = open();
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all([threads.rows(short, [], 'arrays'), threads.rows(short, [], 'arrays')]);
    const busy = [threads.rows(counts, [500_000n], 'arrays'), threads.rows(counts, [500_000n], 'arrays')];
    const waiting = [threads.rows(short, [], 'arrays'), threads.rows(short, [], 'arrays')];
    const settled = Promise.allSettled(busy);
    for (const worker of new Set(posted.mock.contexts as Worker[])) void worker.terminate();
    for (const result of await settled) expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    for (const { rows } of await Promise.all(waiting)) expect(rows).toEqual([[1]]);
    await threads.close();
  });

  test('that cannot open the file say so, once and for all', async () => {
    const threads = new ReaderThreads(join(temporary.directory, 'none', 'such.db'), 0);
    await expect(threads.rows(short, [], 'arrays')).rejects.toThrow(NoThreads);
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await expect(threads.rows(short, [], 'arrays')).rejects.toThrow(NoThreads);
    expect(started).not.toHaveBeenCalled();
    await threads.close();
  });

  test('are waited for until the timeout, be it for a thread or for an answer', async () => {
    const threads = open(100);
    // a thread takes its time to start
    while (!(await threads.rows(short, [], 'arrays').catch(() => null)));
    const asked = Array.from({ length: 4 }, () => threads.rows(counts, [long], 'arrays'));
    for (const result of await Promise.allSettled(asked))
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    // what was given up is not begun, and what had begun comes to its end
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    let answered: unknown;
    while (!answered) answered = await threads.rows(short, [], 'arrays').catch(() => null);
    expect(posted.mock.calls.every(([question]) => question.statement === short)).toBe(true);
    await threads.close();
  });

  test('answer what is under way before they end, and nothing after', async () => {
    const threads = open();
    await Promise.all([threads.rows(short, [], 'arrays'), threads.rows(short, [], 'arrays')]);
    const under = [threads.rows(counts, [500_000n], 'arrays'), threads.rows(counts, [500_000n], 'arrays')];
    const waiting = threads.rows(short, [], 'arrays').catch((error: unknown) => error);
    await threads.close();
    for (const { rows } of await Promise.all(under)) expect(rows).toEqual([[500_000, 0]]);
    expect(isUnavailable(await waiting)).toBe(true);
    expect(isUnavailable(await threads.rows(short, [], 'arrays').catch((error: unknown) => error))).toBe(true);
    await threads.close();
  });
});

describe('the executor of a SQLite file', () => {
  let dialect: SqliteFileDialect;
  const open = () => {
    dialect = new SqliteFileDialect(file);
    return sqliteExecutor(dialect);
  };
  const posts = () => vi.spyOn(Worker.prototype, 'postMessage');
  afterEach(() => dialect.createDriver().destroy());

  test('starts no thread for a small database and short statements', async () => {
    const executor = open();
    const posted = posts();
    for (let i = 0; i < 20; i++) await executor.rows(statement('select count(*) from thing'), []);
    await executor.close();
    expect(posted).not.toHaveBeenCalled();
  });

  test('lets others be answered while a statement takes long, the first time already in a large database', async () => {
    fill();
    const executor = open();
    const order: string[] = [];
    await executor.rows(short, []);
    const slow = executor.rows(counts, [long]).then(() => order.push('slow'));
    for (let i = 0; i < 20; i++) {
      await executor.rows(short, []);
      order.push('short');
    }
    await slow;
    expect(order.indexOf('slow')).toBe(20);
    await executor.close();
  });

  test('sends what took long once to a thread from then on, until it is short again', async () => {
    const executor = open();
    const posted = posts();
    expect(await executor.rows(counts, [400_000n])).toEqual([[400_000, 0]]);
    expect(posted).not.toHaveBeenCalled();
    expect(await executor.rows(counts, [1n])).toEqual([[1, 0]]);
    expect(posted).toHaveBeenCalledTimes(1);
    for (let i = 0; i < 100; i++) await executor.rows(counts, [1n]);
    const inThread = posted.mock.calls.length;
    expect(inThread).toBeLessThan(100);
    expect(await executor.rows(counts, [1n])).toEqual([[1, 0]]);
    expect(posted).toHaveBeenCalledTimes(inThread);
    await executor.close();
  });

  test('looks up a row by its key without a thread, however large the database', async () => {
    fill();
    const executor = open();
    const posted = posts();
    await executor.rows(statement('select t.name from thing as t left join thing as u on u.id = t.id where t.id = ?1'), [1n]);
    expect(posted).not.toHaveBeenCalled();
    await executor.rows(statement('select name from thing where name = ?1'), ['x']);
    expect(posted).toHaveBeenCalledTimes(1);
    await executor.close();
  });

  test('shares in a thread only what was not begun when the later one asked', async () => {
    fill();
    const executor = open();
    await executor.rows(short, []);
    const posted = posts();
    const asked = [executor.rows(counts, [400_000n])];
    while (posted.mock.calls.length === 0) await sleep(1);
    writer.exec("insert into thing (name) values ('x')");
    for (let i = 0; i < 20; i++) asked.push(executor.rows(counts, [400_000n]));
    const [, ...later] = await Promise.all(asked);
    expect(later.map(([row]) => row?.[1])).toEqual(later.map(() => 1));
    expect(posted).toHaveBeenCalledTimes(2);
    await executor.close();
  });

  test('does without threads where there can be none', async () => {
    fill();
    const executor = open();
    await dialect.read(() => undefined);
    vi.spyOn(dialect.threads as ReaderThreads, 'rows').mockRejectedValue(new NoThreads());
    expect(await executor.rows(counts, [400_000n])).toEqual([[400_000, 0]]);
    expect(await executor.rows(counts, [10n])).toEqual([[10, 0]]);
    await executor.close();
  });
});

describe('what the mapper reads from a SQLite file', () => {
  const sum = (limit: number) =>
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${limit}) select max(i) as most from n where 'a ''b' <> '${limit}'`;
  let dialect: SqliteFileDialect;
  let ask: (sql: string) => Promise<unknown[]>;

  beforeEach(async () => {
    dialect = new SqliteFileDialect(file);
    const driver = dialect.createDriver();
    await driver.init();
    const connection = await driver.acquireConnection();
    ask = async (sql) => (await connection.executeQuery({ sql, parameters: [] } as never)).rows;
  });
  afterEach(() => dialect.createDriver().destroy());

  test('is read in a thread when something that differs in its values only took long', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    expect(await ask(sum(5))).toEqual([{ most: 5 }]);
    expect(await ask(sum(400_000))).toEqual([{ most: 400_000 }]);
    expect(posted).not.toHaveBeenCalled();
    expect(await ask(sum(7))).toEqual([{ most: 7 }]);
    expect(posted).toHaveBeenCalledTimes(1);
    expect(await ask("select name from thing where name = 'x'")).toEqual([]);
    expect(posted).toHaveBeenCalledTimes(1);
  });

  test('is read in a thread the first time already, where it counts in a large database', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    expect(await ask('select count(*) as "all" from thing')).toEqual([{ all: 0 }]);
    expect(posted).not.toHaveBeenCalled();
    fill();
    expect(await ask('select count(*) as "all" from thing where id > 7')).toEqual([{ all: 0 }]);
    expect(posted).toHaveBeenCalledTimes(1);
  });

  test('is prepared once for the same text, and follows a table that changes', async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    writer.exec("insert into thing values (1, 'one')");
    const read = 'select * from thing';
    for (let i = 0; i < 3; i++) expect(await ask(read)).toEqual([{ id: 1, name: 'one' }]);
    expect(prepare).toHaveBeenCalledTimes(1);
    writer.exec('alter table thing add column age integer default 5; alter table thing rename column name to title');
    expect(await ask(read)).toEqual([{ id: 1, title: 'one', age: 5 }]);
    writer.exec('update thing set age = 9007199254740993');
    for (let i = 0; i < 2; i++) expect(await ask(read)).toEqual([{ id: 1, title: 'one', age: '9007199254740993' }]);
  });

  test('comes from the connection where there can be no threads', async () => {
    fill();
    vi.spyOn(dialect.threads as ReaderThreads, 'rows').mockRejectedValue(new NoThreads());
    expect(await ask('select count(*) as "all" from thing')).toEqual([{ all: 0 }]);
  });
});
