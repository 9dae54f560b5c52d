import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Executor, Statement } from '../../../src/database/executor.ts';
import type { DatabaseDeclaration } from '../../../src/declaration/types.ts';
import { postgresExecutor } from '../../../src/dialect/postgresql/executor.ts';
import { isUnavailable } from '../../../src/response/problem-document.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';

let database: FreshDatabase;
let admin: Client;

beforeAll(async () => {
  database = await freshDatabase('postgresql');
  admin = new Client({ connectionString: database.url });
  await admin.connect();
});

afterAll(async () => {
  await admin.end();
  await database.drop();
});

const opened: Executor[] = [];

function open(options: Partial<DatabaseDeclaration> = {}): Executor {
  const executor = postgresExecutor({
    url: database.url,
    connectTimeout: 5000,
    statementTimeout: 0,
    preparedStatements: true,
    pool: 2,
    schema: 'none',
    ...options,
  } as DatabaseDeclaration);
  opened.push(executor);
  return executor;
}

function statement(text: string): Statement {
  return { name: `s${text.length}${text.slice(0, 40)}`.replace(/\W/g, '_'), text, wide: false };
}

const one = statement('select 1');
const sleeping = statement('select pg_sleep(10)');

/** The processes of the server that serve executors, busy or not. */
async function backends(): Promise<number[]> {
  const text = 'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  return (await admin.query<{ pid: number }>(text)).rows.map(({ pid }) => pid);
}

/** Until a long statement runs on each connection. */
async function busy(): Promise<void> {
  const text =
    "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()";
  while ((await admin.query(text)).rows.length < 2) await sleep(10);
}

/** All connections of an executor are opened, which is in turn. */
async function warm(executor: Executor): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => executor.rows(one, [])));
}

describe('the PostgreSQL executor', () => {
  afterEach(async () => {
    for (const executor of opened.splice(0)) await executor.close();
    // what was closed, the server ends a little later
    while ((await backends()).length > 0) await sleep(10);
  });

  test('returns every value as text, in column order', async () => {
    const executor = open();
    const text = "select 1::int8, true, null, 0.1::float8, '\\x6869'::bytea, date '2026-11-15', 'a'::text";
    expect(await executor.rows(statement(text), [])).toEqual([['1', 't', null, '0.1', '\\x6869', '2026-11-15', 'a']]);
    await executor.close();
  });

  test('returns the right rows to each of many concurrent statements', async () => {
    const executor = open();
    const asked = Array.from({ length: 500 }, (_, i) => executor.rows(statement('select $1::int4'), [i]));
    expect((await Promise.all(asked)).map(([row]) => row?.[0])).toEqual(asked.map((_, i) => String(i)));
    // a busy machine may make any statement take long
    expect((await backends()).length).toBeLessThanOrEqual(4);
    await executor.close();
  });

  test('sends every kind of value like pg does', async () => {
    const executor = open();
    const read = statement(
      'select $1::text, $2::text[], $3::bytea, $4::timestamptz, $5::timestamp, $6::bool, $7::int8, $8::float8',
    );
    const values = [
      ['', [], Buffer.from([0, 255]), new Date(0), new Date(1234567890123), true, 2n ** 63n - 1n, 0.1],
      ['ä 😀 \n " \\ \'', ['a', '', 'x"y\\z', '{,}', 'NULL', ' ', 'ä😀'], null, null, null, false, 1, -1e300],
      [null, ['a', null], undefined, undefined, undefined, null, '5', '0.5'],
      ['{}', null, null, null, null, null, null, null],
    ];
    const plain = new Client({ connectionString: database.url });
    await plain.connect();
    const types = { getTypeParser: () => (text: unknown) => text };
    for (const row of values) {
      const { rows } = await plain.query({ text: read.text, values: row, rowMode: 'array', types } as never);
      for (let i = 0; i < 3; i++) expect(await executor.rows(read, row)).toEqual(rows);
    }
    await plain.end();
    await executor.close();
  });

  test('returns any number of rows, including none', async () => {
    const executor = open();
    const series = statement("select i, repeat('x', 1000) from generate_series(1, $1::int4) as i");
    for (const amount of [0, 1, 5000]) {
      const rows = await executor.rows(series, [amount]);
      expect(rows.map(([i]) => i)).toEqual(Array.from({ length: amount }, (_, i) => String(i + 1)));
    }
    await executor.close();
  });

  test('does not queue short statements behind one that is known to be slow', async () => {
    const executor = open();
    const long = statement('select pg_sleep(0.4), $1::int4');
    await executor.rows(long, [0]);
    const answered: string[] = [];
    const note = (name: string) => () => answered.push(name);
    const asked = [1, 2, 3, 4].map((i) => executor.rows(long, [i]).then(note('long')));
    for (let i = 0; i < 20; i++) asked.push(executor.rows(one, []).then(note('short')));
    await Promise.all(asked);
    expect(answered).toEqual([...Array(20).fill('short'), ...Array(4).fill('long')]);
    expect((await backends()).length).toBeLessThanOrEqual(4);
    await executor.close();
  });

  test('expects a count to be slow before it has run one', async () => {
    const executor = open();
    const counting = statement('select count(*) from (select pg_sleep($1)) as nap');
    await warm(executor);
    const answered: string[] = [];
    const note = (name: string) => () => answered.push(name);
    const asked = [executor.rows(counting, [0.4]).then(note('count'))];
    for (let i = 0; i < 20; i++) asked.push(executor.rows(one, []).then(note('short')));
    await Promise.all(asked);
    expect(answered.at(-1)).toBe('count');
    await executor.close();
  });

  test('routes other statements around one that is unexpectedly slow', async () => {
    const executor = open();
    await warm(executor);
    const answered: string[] = [];
    const slow = executor.rows(statement('select pg_sleep(0.4)'), []).then(() => answered.push('slow'));
    for (let i = 0; i < 10; i++) {
      await executor.rows(one, []);
      answered.push('short');
    }
    await slow;
    expect(answered.at(-1)).toBe('slow');
    await executor.close();
  });

  test('does not queue a slow statement behind slower ones', async () => {
    const executor = open();
    const long = statement('select pg_sleep(0.1)');
    const veryLong = statement('select pg_sleep(1.0)');
    await Promise.all([executor.rows(long, []), executor.rows(veryLong, [])]);
    const answered: string[] = [];
    const busy = [0, 1].map(() => executor.rows(veryLong, []).then(() => answered.push('very long')));
    await executor.rows(long, []).then(() => answered.push('long'));
    await Promise.all(busy);
    expect(answered).toEqual(['long', 'very long', 'very long']);
    await executor.close();
  });

  test('does not start waiting statements after it was closed', async () => {
    const executor = open();
    const long = statement('select pg_sleep(0.1)');
    await executor.rows(long, []);
    // opens the connections for it
    await Promise.all([executor.rows(long, []), executor.rows(long, [])]);
    const asked = Array.from({ length: 3 }, () => executor.rows(long, []).catch((reason: unknown) => reason));
    await executor.close();
    const [first, second, third] = await Promise.all(asked);
    expect([first, second]).toEqual([[['']], [['']]]);
    expect(isUnavailable(third)).toBe(true);
  });

  test('fails only the faulty statement of a batch', async () => {
    const executor = open();
    const asked = Array.from({ length: 20 }, (_, i) => executor.rows(statement('select 10 / $1::int4'), [i % 5]));
    const settled = await Promise.allSettled(asked);
    expect(settled.map(({ status }) => status)).toEqual(asked.map((_, i) => (i % 5 === 0 ? 'rejected' : 'fulfilled')));
    await executor.close();
  });

  test('opens new connections after the server has closed idle ones', async () => {
    const executor = open();
    await warm(executor);
    for (const pid of await backends()) await admin.query('select pg_terminate_backend($1)', [pid]);
    while ((await backends()).length > 0) await sleep(10);
    await sleep(50);
    for (let i = 0; i < 6; i++) expect(await executor.rows(one, [])).toEqual([['1']]);
    expect((await backends()).length).toBeGreaterThanOrEqual(2);
    await executor.close();
    while ((await backends()).length > 0) await sleep(10);
  });

  test('fails running statements of a lost connection as unavailable, then reconnects', async () => {
    const executor = open();
    const asked = Array.from({ length: 6 }, () => executor.rows(sleeping, []));
    const settling = Promise.allSettled(asked);
    await busy();
    for (const pid of await backends()) await admin.query('select pg_terminate_backend($1)', [pid]);
    for (const result of await settling) {
      expect(result.status).toBe('rejected');
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    }
    expect(await executor.rows(one, [])).toEqual([['1']]);
    expect(await executor.rows(one, [])).toEqual([['1']]);
    await executor.close();
  });

  test('fails only with "unavailable" while connections are being lost', async () => {
    const executor = open();
    let stop = false;
    const failures: unknown[] = [];
    let answered = 0;
    const readers = Array.from({ length: 8 }, async () => {
      while (!stop) {
        try {
          await executor.rows(statement('select $1::text'), ['x']);
          answered++;
        } catch (error) {
          failures.push(error);
        }
        await sleep(1);
      }
    });
    for (let i = 0; i < 15; i++) {
      await sleep(20);
      for (const pid of await backends()) await admin.query('select pg_terminate_backend($1)', [pid]);
    }
    stop = true;
    await Promise.all(readers);
    expect(failures.filter((error) => !isUnavailable(error))).toEqual([]);
    expect(answered).toBeGreaterThan(20);
    // the last of the losses may not have been noticed yet
    await sleep(100);
    expect(await executor.rows(one, [])).toEqual([['1']]);
    await executor.close();
    while ((await backends()).length > 0) await sleep(10);
  });

  test('fails a statement that times out as unavailable, and runs the ones queued behind it', async () => {
    const executor = open({ statementTimeout: 200 });
    const slow = [executor.rows(sleeping, []), executor.rows(sleeping, [])];
    const behind = [executor.rows(one, []), executor.rows(one, [])];
    for (const result of await Promise.allSettled(slow))
      expect(isUnavailable((result as PromiseRejectedResult).reason)).toBe(true);
    expect(await Promise.all(behind)).toEqual([[['1']], [['1']]]);
    await executor.close();
  });

  test('throws an unavailable error for every statement if no server is listening', async () => {
    const executor = open({ url: 'postgresql://nobody:x@127.0.0.1:1/nowhere' });
    for (let i = 0; i < 3; i++) {
      const error = await executor.rows(one, []).catch((reason: unknown) => reason);
      expect(isUnavailable(error)).toBe(true);
    }
    await executor.close();
  });

  test('fails as unavailable if the server does not respond in time', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const executor = open({
      url: `postgresql://nobody:x@127.0.0.1:${(silent.address() as AddressInfo).port}/nowhere`,
      connectTimeout: 100,
    });
    expect(isUnavailable(await executor.rows(one, []).catch((reason: unknown) => reason))).toBe(true);
    await executor.close();
    silent.close();
  });

  test('finishes running statements before it closes, and rejects later ones', async () => {
    const executor = open();
    await warm(executor);
    const asked = executor.rows(statement('select pg_sleep(0.2), 7'), []);
    await sleep(20);
    await executor.close();
    expect((await asked)[0]?.[1]).toBe('7');
    expect(isUnavailable(await executor.rows(one, []).catch((reason: unknown) => reason))).toBe(true);
    while ((await backends()).length > 0) await sleep(10);
  });

  test('keeps working after the table of a prepared statement has changed', async () => {
    const executor = open();
    await admin.query('create table changing (id int, name varchar(10))');
    await admin.query("insert into changing values (1, 'one')");
    const read = statement('select name from changing where id = $1');
    for (let i = 0; i < 4; i++) expect(await executor.rows(read, [1])).toEqual([['one']]);
    await admin.query('alter table changing alter column name type text, add column age int');
    const asked = await Promise.all(Array.from({ length: 10 }, () => executor.rows(read, [1])));
    expect(asked).toEqual(Array.from({ length: 10 }, () => [['one']]));
    await executor.close();
    while ((await backends()).length > 0) await sleep(10);
  });

  test('limits the number of prepared statements on the server', async () => {
    const executor = open();
    for (let i = 0; i < 2200; i += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, j) => executor.rows({ name: `n${i + j}`, text: `select ${i + j}`, wide: false }, [])),
      );
    }
    const [row] = await executor.rows({ name: 'many', text: 'select count(*) from pg_prepared_statements', wide: false }, []);
    expect(Number(row?.[0])).toBeLessThanOrEqual(1000);
    await executor.close();
  });

  test('applies the settings in the database URL', async () => {
    await admin.query('create schema elsewhere; create table elsewhere.hidden (id int); insert into elsewhere.hidden values (5)');
    const url = new URL(database.url);
    url.searchParams.set('options', '-c search_path=elsewhere');
    const executor = open({ url: url.href });
    expect(await executor.rows(statement("select id, date '2026-11-15' from hidden"), [])).toEqual([['5', '2026-11-15']]);
    await executor.close();
  });
});

test('the PostgreSQL executor prepares statements unless preparedStatements is false', async () => {
  const kept = statement('select count(*) from pg_prepared_statements');
  for (const preparedStatements of [true, false]) {
    const executor = open({ preparedStatements });
    await warm(executor);
    const [[count] = []] = await executor.rows(kept, []);
    expect(Number(count) > 0).toBe(preparedStatements);
    await executor.close();
  }
});
