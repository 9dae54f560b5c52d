import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Statement } from '../../../src/database/executor.ts';
import { TooLargeError } from '../../../src/database/too-large.ts';
import { sqliteExecutor } from '../../../src/dialect/sqlite/executor.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { NoThreads, ReaderThreads } from '../../../src/dialect/sqlite/reads/reader-threads.ts';
import { nextPart } from '../../../src/dialect/sqlite/reads/thread-messages.ts';
import { StoppableConnection } from '../../../src/dialect/sqlite/stoppable-connection.ts';
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

/** Asks for the rows of a statement of which nothing is known. */
function ask(threads: ReaderThreads, statement: Statement, parameters: readonly unknown[], as: 'arrays' | 'named') {
  return threads.rows({ statement, parameters, as }, { isStoppable: false, expected: undefined });
}

const short = statement('select 1');
const counting =
  'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1) select count(*), (select count(*) from thing) from n';
/** Takes as long as the number that it is given says: a million is a few tenths of a second. */
const counts = statement(counting);
const long = 2_000_000n;

/** Rows, so many that some statements take long. */
function fill(rows: number): void {
  writer.exec(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows}) insert into thing select i, 'name ' || i from n`,
  );
}

describe('reader threads', () => {
  const open = (timeout = 0) => new ReaderThreads(file, timeout);

  test('return the same values as a connection, including blobs and integers beyond 2^53', async () => {
    const threads = open();
    const text = "select 1, 0.5, null, 'ä', x'00ff', 9007199254740993, ?1, ?2";
    const parameters = [2n ** 63n - 1n, new Uint8Array([1, 2])];
    const { rows } = await ask(threads, statement(text), parameters, 'arrays');
    expect(rows).toEqual([
      [1n, 0.5, null, 'ä', new Uint8Array([0, 255]), 9007199254740993n, 2n ** 63n - 1n, new Uint8Array([1, 2])],
    ]);
    expect((await ask(threads, statement('select 1, 2.5', true), [], 'arrays')).rows).toEqual([[1n, 2.5]]);
    expect((await ask(threads, statement('select id from thing'), [], 'arrays')).rows).toEqual([]);
    await threads.close();
  });

  test('return rows as objects on request, in the form that the mapper reads', async () => {
    const threads = open();
    const text = "select 1 as a, 9007199254740993 as b, x'00ff' as c, null as d, 2 as a";
    for (let i = 0; i < 2; i++) {
      const { rows } = await ask(threads, statement(text), [], 'named');
      expect(rows).toEqual([{ a: 2, b: '9007199254740993', c: new Uint8Array([0, 255]), d: null }]);
    }
    await threads.close();
  });

  test('return many rows in parts, each in a message of its own', async () => {
    fill(20_000);
    const threads = open();
    await ask(threads, short, [], 'arrays');
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const reading = ask(threads, statement('select id, name from thing order by id'), [], 'arrays');
    const another = ask(threads, statement('select count(*) from thing'), [], 'arrays');
    const { rows } = await reading;
    expect(rows).toHaveLength(20_000);
    expect(rows.at(-1)).toEqual([20_000, 'name 20000']);
    expect((await another).rows).toEqual([[20_000]]);
    expect(posted.mock.calls.filter(([message]) => message === nextPart)).toHaveLength(9);
    const thread = threads.take();
    const large = threads.ask(thread, { statement: statement('select id from thing'), parameters: [], as: 'named' });
    const last = threads.ask(thread, { statement: short, parameters: [], as: 'arrays' });
    threads.giveBack(thread);
    await threads.close();
    expect(await large).toHaveLength(20_000);
    expect(await last).toEqual([[1]]);
  });

  test('see all changes committed before the read', async () => {
    const threads = open();
    const count = statement('select count(*) from thing');
    for (let i = 0; i < 50; i++) {
      expect((await ask(threads, count, [], 'arrays')).rows).toEqual([[i]]);
      writer.exec("insert into thing (name) values ('x')");
    }
    await threads.close();
  });

  test('reject writes', async () => {
    const threads = open();
    await expect(ask(threads, statement("insert into thing values (1, 'x')"), [], 'arrays')).rejects.toThrow('readonly');
    await threads.close();
  });

  test('restart a statement that was stopped because it is slow', async () => {
    const threads = open();
    fill(3000);
    const slow = statement('select count(*) from thing as a, thing as b where a.name <> b.name');
    const sent = { statement: slow, parameters: [], as: 'arrays', mostBytes: 1000 } as const;
    for (let i = 0; i < 3; i++)
      expect((await threads.rows(sent, { isStoppable: true, expected: undefined })).rows).toEqual([[3000 * 2999]]);
    await threads.close();
  });

  test('reject a result over the byte limit and keep working', async () => {
    const threads = open();
    fill(1000);
    const all = statement('select id, name from thing');
    const read = (mostBytes: number) =>
      threads.rows({ statement: all, parameters: [], as: 'arrays', mostBytes }, { isStoppable: true, expected: undefined });
    await expect(read(10_000)).rejects.toThrow(TooLargeError);
    expect((await read(100_000)).rows).toHaveLength(1000);
    await threads.close();
  });

  test('stop statements that time out and are free for others immediately', async () => {
    const threads = open(300);
    fill(3000);
    const endless = statement('select count(*) from thing as a, thing as b, thing as c where a.name || b.name = c.name');
    const expectation = { isStoppable: true, expected: undefined };
    // a thread takes its time to start
    while (!(await ask(threads, short, [], 'arrays').catch(() => null)));
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const ended = vi.spyOn(Worker.prototype, 'terminate');
    const asked = Array.from({ length: 3 }, () =>
      threads.rows({ statement: endless, parameters: [], as: 'arrays' }, expectation).catch((error: unknown) => error),
    );
    for (const error of await Promise.all(asked)) expect(isUnavailable(error)).toBe(true);
    while (!(await ask(threads, short, [], 'arrays').catch(() => null)));
    await threads.close();
    expect(new Set(posted.mock.contexts).size).toBeLessThanOrEqual(3);
    expect(ended).not.toHaveBeenCalled();
  });

  test('report the same errors as a connection and keep working', async () => {
    const threads = open();
    const failing = statement('select id from nowhere');
    const told = await ask(threads, failing, [], 'arrays').catch((error: unknown) => error);
    let thrown: unknown;
    try {
      writer.prepare(failing.text);
    } catch (error) {
      thrown = error;
    }
    expect(told).toBeInstanceOf(Error);
    expect(told).toMatchObject({ message: (thrown as Error).message, code: 'ERR_SQLITE_ERROR', errcode: 1 });
    await expect(ask(threads, short, [Symbol('not to be sent')], 'arrays')).rejects.toThrow();
    expect((await ask(threads, short, [], 'arrays')).rows).toEqual([[1]]);
    await threads.close();
  });

  test('number at most two under any load', async () => {
    const threads = open();
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all(Array.from({ length: 30 }, () => ask(threads, counts, [10_000n], 'arrays')));
    expect(new Set(started.mock.contexts).size).toBe(2);
    await threads.close();
  });

  test('that end unexpectedly fail their statements as unavailable; new threads run waiting ones', async () => {
    const threads = open();
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all([ask(threads, short, [], 'arrays'), ask(threads, short, [], 'arrays')]);
    const busy = [ask(threads, counts, [500_000n], 'arrays'), ask(threads, counts, [500_000n], 'arrays')];
    const waiting = [ask(threads, short, [], 'arrays'), ask(threads, short, [], 'arrays')];
    const settled = Promise.allSettled(busy);
    for (const worker of new Set(posted.mock.contexts as Worker[])) void worker.terminate();
    for (const result of await settled) expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    for (const { rows } of await Promise.all(waiting)) expect(rows).toEqual([[1]]);
    await threads.close();
  });

  test('that cannot open the file fail and are not started again', async () => {
    const threads = new ReaderThreads(join(temporary.directory, 'none', 'such.db'), 0);
    await expect(ask(threads, short, [], 'arrays')).rejects.toThrow(NoThreads);
    const started = vi.spyOn(Worker.prototype, 'postMessage');
    await expect(ask(threads, short, [], 'arrays')).rejects.toThrow(NoThreads);
    expect(started).not.toHaveBeenCalled();
    await threads.close();
  });

  test('time out both while waiting for a thread and while running', async () => {
    const threads = open(100);
    // a thread takes its time to start
    while (!(await ask(threads, short, [], 'arrays').catch(() => null)));
    const asked = Array.from({ length: 4 }, () => ask(threads, counts, [long], 'arrays'));
    for (const result of await Promise.allSettled(asked))
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    // what was given up is not begun, and what had begun comes to its end
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    let answered: unknown;
    while (!answered) answered = await ask(threads, short, [], 'arrays').catch(() => null);
    expect(posted.mock.calls.every(([question]) => question === null || question.statement === short)).toBe(true);
    await threads.close();
  });

  test('complete statements in progress before they close, and reject new ones', async () => {
    const threads = open();
    await Promise.all([ask(threads, short, [], 'arrays'), ask(threads, short, [], 'arrays')]);
    const under = [ask(threads, counts, [500_000n], 'arrays'), ask(threads, counts, [500_000n], 'arrays')];
    const waiting = ask(threads, short, [], 'arrays').catch((error: unknown) => error);
    await threads.close();
    for (const { rows } of await Promise.all(under)) expect(rows).toEqual([[500_000, 0]]);
    expect(isUnavailable(await waiting)).toBe(true);
    expect(isUnavailable(await ask(threads, short, [], 'arrays').catch((error: unknown) => error))).toBe(true);
    await threads.close();
  });
});

describe('the executor of a SQLite file', () => {
  let dialect: SqliteFileDialect;
  const open = () => {
    dialect = new SqliteFileDialect(file);
    return sqliteExecutor(dialect);
  };
  /** Looks at each pair of rows. */
  const pairs = statement('select count(*) from thing as a, thing as b where a.name like ?1');
  const posts = () => vi.spyOn(Worker.prototype, 'postMessage');
  afterEach(() => dialect.createDriver().destroy());

  test('starts no thread for a small database and short statements', async () => {
    const executor = open();
    const posted = posts();
    for (let i = 0; i < 20; i++) await executor.rows(statement('select count(*) from thing'), []);
    await executor.close();
    expect(posted).not.toHaveBeenCalled();
  });

  test('runs other statements during a slow one, even the first time', async () => {
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

  test('moves a slow statement to a thread until it is fast again', async () => {
    const executor = open();
    const posted = posts();
    fill(3000);
    expect(await executor.rows(pairs, ['%7%'])).toEqual([[3000 * 813]]);
    expect(posted).toHaveBeenCalled();
    writer.exec('delete from thing where id > 10');
    posted.mockClear();
    expect(await executor.rows(pairs, ['%7%'])).toEqual([[10]]);
    expect(posted).toHaveBeenCalledTimes(1);
    for (let i = 0; i < 100; i++) await executor.rows(pairs, ['%7%']);
    const inThread = posted.mock.calls.length;
    expect(inThread).toBeLessThan(100);
    expect(await executor.rows(pairs, ['%7%'])).toEqual([[10]]);
    expect(posted).toHaveBeenCalledTimes(inThread);
    await executor.close();
  });

  test('sends statements of the same shape to a thread once one was stopped', async () => {
    const executor = open();
    fill(3000);
    await executor.rows(pairs, ['%7%']);
    const posted = posts();
    const within = vi.spyOn(StoppableConnection.prototype, 'within');
    await executor.rows(statement(`${pairs.text} and b.name <> 'x'`), ['%7%']);
    expect(posted).toHaveBeenCalled();
    expect(within).not.toHaveBeenCalled();
    await executor.close();
  });

  test('looks up a row by key without a thread and without the stoppable connection', async () => {
    fill(100_000);
    const executor = open();
    const posted = posts();
    const within = vi.spyOn(StoppableConnection.prototype, 'within');
    await executor.rows(statement('select t.name from thing as t left join thing as u on u.id = t.id where t.id = ?1'), [1n]);
    await executor.rows(statement('select count(*) from thing'), []);
    expect(posted).not.toHaveBeenCalled();
    expect(within).not.toHaveBeenCalled();
    await executor.close();
  });

  test('shares a read in a thread only with requests that came before it started', async () => {
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

  test('works without threads if none can be started', async () => {
    const executor = open();
    await dialect.read(() => undefined);
    vi.spyOn(dialect.threads as ReaderThreads, 'rows').mockRejectedValue(new NoThreads());
    expect(await executor.rows(counts, [400_000n])).toEqual([[400_000, 0]]);
    expect(await executor.rows(counts, [10n])).toEqual([[10, 0]]);
    await executor.close();
  });
});

describe('a read of the mapper from a SQLite file', () => {
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

  test('runs in a thread if the same statement with other values was slow', async () => {
    fill(3000);
    const matching = (text: string) => `select count(*) as "all" from thing as a, thing as b where a.name like '${text}'`;
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    expect(await ask(matching('%7%'))).toEqual([{ all: 3000 * 813 }]);
    expect(posted).toHaveBeenCalled();
    const within = vi.spyOn(StoppableConnection.prototype, 'within');
    expect(await ask(matching('%x%'))).toEqual([{ all: 0 }]);
    expect(within).not.toHaveBeenCalled();
    posted.mockClear();
    expect(await ask('select name from thing where id = 1')).toEqual([{ name: 'name 1' }]);
    expect(posted).not.toHaveBeenCalled();
  });

  test('is prepared once per connection for the same text and reflects changes of the table', async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    writer.exec("insert into thing values (1, 'one')");
    const read = 'select * from thing';
    // with a time limit, and then without one because it was short
    for (let i = 0; i < 2; i++) expect(await ask(read)).toEqual([{ id: 1, name: 'one' }]);
    prepare.mockClear();
    for (let i = 0; i < 3; i++) expect(await ask(read)).toEqual([{ id: 1, name: 'one' }]);
    expect(prepare).not.toHaveBeenCalled();
    writer.exec('alter table thing add column age integer default 5; alter table thing rename column name to title');
    expect(await ask(read)).toEqual([{ id: 1, title: 'one', age: 5 }]);
    writer.exec('update thing set age = 9007199254740993');
    for (let i = 0; i < 2; i++) expect(await ask(read)).toEqual([{ id: 1, title: 'one', age: '9007199254740993' }]);
  });

  test('uses the connection if no threads can be started', async () => {
    vi.spyOn(dialect.threads as ReaderThreads, 'rows').mockRejectedValue(new NoThreads());
    expect(await ask('select count(*) as "all" from thing')).toEqual([{ all: 0 }]);
  });
});
