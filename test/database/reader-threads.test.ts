import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Statement } from '../../src/database/executor.ts';
import { NoThreads, ReaderThreads } from '../../src/database/reader-threads.ts';
import { SqliteFileDialect } from '../../src/database/sqlite-dialect.ts';
import { sqliteExecutor } from '../../src/database/sqlite-executor.ts';
import { isUnavailable } from '../../src/response/problem-document.ts';
import { makeTemporary } from '../support/temporary.ts';

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
const long = 3_000_000n;

/** A database in which a statement may take long. */
function fill(): void {
  writer.exec('create table filler as select zeroblob(20000000) as content');
}

describe('threads that read', () => {
  const open = (timeout = 0) => new ReaderThreads({ file, busyTimeout: 1000 }, timeout);

  test('give what a connection gives, blobs and integers beyond 2^53 included', async () => {
    const threads = open();
    const text = "select 1, 0.5, null, 'ä', x'00ff', 9007199254740993, ?1, ?2";
    const parameters = [2n ** 63n - 1n, new Uint8Array([1, 2])];
    const { rows } = await threads.rows(statement(text), parameters);
    expect(rows).toEqual([
      [1n, 0.5, null, 'ä', new Uint8Array([0, 255]), 9007199254740993n, 2n ** 63n - 1n, new Uint8Array([1, 2])],
    ]);
    expect((await threads.rows(statement('select 1, 2.5', true), [])).rows).toEqual([[1n, 2.5]]);
    expect((await threads.rows(statement('select id from thing'), [])).rows).toEqual([]);
    await threads.close();
  });

  test('see what was committed before they were asked', async () => {
    const threads = open();
    const count = statement('select count(*) from thing');
    for (let i = 0; i < 50; i++) {
      expect((await threads.rows(count, [])).rows).toEqual([[i]]);
      writer.exec("insert into thing (name) values ('x')");
    }
    await threads.close();
  });

  test('write nothing', async () => {
    const threads = open();
    await expect(threads.rows(statement("insert into thing values (1, 'x')"), [])).rejects.toThrow('readonly');
    await threads.close();
  });

  test('tell an error as the connection would, and go on', async () => {
    const threads = open();
    const failing = statement('select id from nowhere');
    const told = await threads.rows(failing, []).catch((error: unknown) => error);
    let thrown: unknown;
    try {
      writer.prepare(failing.text);
    } catch (error) {
      thrown = error;
    }
    expect(told).toBeInstanceOf(Error);
    expect(told).toMatchObject({ message: (thrown as Error).message, code: 'ERR_SQLITE_ERROR', errcode: 1 });
    await expect(threads.rows(short, [Symbol('not to be sent')])).rejects.toThrow();
    expect((await threads.rows(short, [])).rows).toEqual([[1]]);
    await threads.close();
  });

  test('are no more than two, whatever is asked', async () => {
    const threads = open();
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all(Array.from({ length: 30 }, () => threads.rows(counts, [10_000n])));
    expect(new Set(started.mock.contexts).size).toBe(2);
    await threads.close();
  });

  test('that end unexpectedly fail what they were doing as unavailable; others do what was waiting', async () => {
    const threads = open();
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all([threads.rows(short, []), threads.rows(short, [])]);
    const busy = [threads.rows(counts, [500_000n]), threads.rows(counts, [500_000n])];
    const waiting = [threads.rows(short, []), threads.rows(short, [])];
    const settled = Promise.allSettled(busy);
    for (const worker of new Set(posted.mock.contexts as Worker[])) void worker.terminate();
    for (const result of await settled) expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    for (const { rows } of await Promise.all(waiting)) expect(rows).toEqual([[1]]);
    await threads.close();
  });

  test('that cannot open the file say so, once and for all', async () => {
    const threads = new ReaderThreads({ file: join(temporary.directory, 'none', 'such.db'), busyTimeout: 1000 }, 0);
    await expect(threads.rows(short, [])).rejects.toThrow(NoThreads);
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await expect(threads.rows(short, [])).rejects.toThrow(NoThreads);
    expect(started).not.toHaveBeenCalled();
    await threads.close();
  });

  test('are waited for until the timeout, be it for a thread or for an answer', async () => {
    const threads = open(300);
    // a thread takes its time to start
    while (!(await threads.rows(short, []).catch(() => null)));
    const asked = Array.from({ length: 4 }, () => threads.rows(counts, [long]));
    for (const result of await Promise.allSettled(asked))
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    // what was given up is not begun, and what had begun comes to its end
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    let answered: unknown;
    while (!answered) answered = await threads.rows(short, []).catch(() => null);
    expect(posted.mock.calls.every(([question]) => question.statement === short)).toBe(true);
    await threads.close();
  });

  test('answer what is under way before they end, and nothing after', async () => {
    const threads = open();
    await Promise.all([threads.rows(short, []), threads.rows(short, [])]);
    const under = [threads.rows(counts, [500_000n]), threads.rows(counts, [500_000n])];
    const waiting = threads.rows(short, []).catch((error: unknown) => error);
    await threads.close();
    for (const { rows } of await Promise.all(under)) expect(rows).toEqual([[500_000, 0]]);
    expect(isUnavailable(await waiting)).toBe(true);
    expect(isUnavailable(await threads.rows(short, []).catch((error: unknown) => error))).toBe(true);
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
