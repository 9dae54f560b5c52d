// @module-tag divided
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import type { TestApplication, TestResponse } from '../support/testing.ts';
import { seen, startOrders } from './orders.ts';

const flushes = () => seen.calls.filter((call) => call.startsWith('flushed'));

beforeEach(() => {
  seen.calls.length = 0;
  seen.onAct = null;
});

describe('retries on PostgreSQL', () => {
  /** With what a database says of its own accord to whoever connects. */
  const settings = {
    strict: "default_transaction_isolation = 'serializable'",
    usual: "deadlock_timeout = '50ms'",
  };
  const fresh: FreshDatabase[] = [];
  let strict: TestApplication;
  let usual: TestApplication;
  /** Somebody else who uses the database of the one or the other. */
  let other: Client;
  let others: Record<keyof typeof settings, Client>;

  async function start(name: keyof typeof settings): Promise<[TestApplication, Client]> {
    const database = await freshDatabase('postgresql');
    fresh.push(database);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`alter database ${new URL(database.url).pathname.slice(1)} set ${settings[name]}`);
    // whoever else waits is found to be in a deadlock first
    await client.query("set deadlock_timeout = '10s'");
    return [await startOrders(database.url), client];
  }

  beforeAll(async () => {
    const [one, two] = await Promise.all([start('strict'), start('usual')]);
    [strict, usual] = [one[0], two[0]];
    others = { strict: one[1], usual: two[1] };
  });

  beforeEach(() => {
    other = others.strict;
  });

  afterAll(async () => {
    await Promise.all(Object.values(others ?? {}).map((client) => client.end()));
    await usual?.close();
    await strict?.close();
    await Promise.all(fresh.map((database) => database.drop()));
  });

  /** Waits until a connection of an application waits for a lock. */
  async function someoneWaits(): Promise<void> {
    const sql =
      "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'";
    for (;;) {
      await other.query('select pg_stat_clear_snapshot()');
      if ((await other.query(sql)).rows.length > 0) return;
      await sleep(5);
    }
  }

  /** Changes a row while a request waits for it: with this isolation, the database cannot let the request go on. */
  async function overtaken(id: number, ask: () => Promise<TestResponse>): Promise<TestResponse> {
    await other.query('begin');
    await other.query(`update orders set data = '{"by":"other"}' where id = ${id}`);
    const answer = ask();
    await someoneWaits();
    await other.query('commit');
    return answer;
  }

  /** Makes a request that locks an order and then a tag wait for who locks them the other way round. */
  async function deadlocked(order: number, tag: number, ask: () => Promise<TestResponse>): Promise<TestResponse> {
    await other.query('begin');
    await other.query(`select 1 from tag where id = ${tag} for update`);
    const answer = ask();
    await someoneWaits();
    await other.query(`select 1 from orders where id = ${order} for update`);
    await other.query(`update orders set data = '{"by":"other"}' where id = ${order}`);
    await other.query('commit');
    return answer;
  }

  const nameOf = async (id: number) => (await other.query(`select name, data from orders where id = ${id}`)).rows[0];

  test.each([
    ['a compiled PATCH', 'PATCH', '/plain/1.json'],
    ['a PATCH with hooks', 'PATCH', '/hooked/1.json'],
    ['a PUT', 'PUT', '/plain/1.json'],
  ])('%s is retried after a serialization failure', async (_, method, path) => {
    const json = method === 'PUT' ? { name: path, data: { by: 'us' } } : { name: path };
    const answer = await overtaken(1, () => strict.request(method, path, { json }));
    expect([answer.status, answer.json.name]).toEqual([200, path]);
    expect(await nameOf(1)).toEqual({ name: path, data: { by: method === 'PUT' ? 'us' : 'other' } });
    if (path.startsWith('/hooked')) expect([seen.calls.length > 3, flushes()]).toEqual([true, ['flushed, 9 orders']]);
  });

  test.each(['/plain', '/hooked'])('a DELETE under %s is retried after a serialization failure', async (base) => {
    const { json } = await strict.request('POST', '/plain.json', { json: { name: 'to be removed' } });
    const answer = await overtaken(json.id, () => strict.request('DELETE', `${base}/${json.id}.json`));
    expect(answer.status).toBe(204);
    expect(await nameOf(json.id)).toBeUndefined();
  });

  test('a request with a key is retried, and the final response is stored', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const patch = () => strict.request('PATCH', '/hooked/2.json', { json: { name: 'keyed' }, headers });
    const answer = await overtaken(2, patch);
    expect([answer.status, answer.json.data]).toEqual([200, { by: 'other' }]);
    expect(flushes()).toHaveLength(1);
    const again = await patch();
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([answer.text, 'true']);
  });

  test('each attempt starts with the original body', async () => {
    const headers = { 'x-mutate': 'yes' };
    const patch = () => strict.request('PATCH', '/hooked/3.json', { json: { name: 'as sent' }, headers });
    expect((await overtaken(3, patch)).json.name).toBe('as sent!');
  });

  test('a handler is retried only if it is declared repeatable', async () => {
    const refused = await overtaken(4, () => strict.request('POST', '/hooked/4/mark.json'));
    expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([503, 'database_unavailable', '1']);
    const done = await overtaken(4, () => strict.request('POST', '/hooked/4/remark.json'));
    expect([done.status, done.json.name]).toEqual([200, 'order 4 marked']);
    expect(seen.calls.filter((call) => call === 'marked')).toHaveLength(3);
  });

  test('a default action is not retried if it is declared not repeatable', async () => {
    const refused = await overtaken(4, () => strict.request('PATCH', '/once/4.json', { json: { name: 'never' } }));
    expect([refused.status, await nameOf(4)]).toEqual([503, { name: 'order 4 marked', data: { by: 'other' } }]);
  });

  test.each(['/plain', '/hooked'])('a request under %s is retried after a deadlock', async (base) => {
    other = others.usual;
    const order = base === '/plain' ? 5 : 6;
    const added = await deadlocked(order, 3, () => usual.request('POST', `${base}/${order}/tags.json`, { json: { id: 3 } }));
    expect([added.status, added.json]).toEqual([200, { id: 3 }]);
    const { rows } = await other.query(`select tag_id from orders_tags where order_id = ${order}`);
    expect(rows).toEqual([{ tag_id: 3 }]);
    expect((await nameOf(order)).data).toEqual({ by: 'other' });
  });

  test('20 concurrent changes of the same rows each apply once or return 503', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        strict.request('POST', `/hooked/${(i % 2) + 7}/tags.json`, { json: { id: (i % 5) + 1 } }),
      ),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    // who has to give way more often than is waited for is told to come back
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    const { rows } = await other.query('select count(*) as n from orders_tags where order_id in (7, 8)');
    const added = new Set(answers.flatMap(({ status }, i) => (status === 200 ? [`${i % 2} ${i % 5}`] : [])));
    expect(Number(rows[0].n)).toBe(added.size);
  });

  test('a failed commit calls no hook after the commit and stores nothing', async () => {
    other = others.usual;
    await other.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
    await other.query(
      `create constraint trigger refusing after insert on orders deferrable initially deferred for each row when (new.name = 'refused') execute function refuse()`,
    );
    const before = Number((await other.query('select count(*) as n from orders')).rows[0].n);
    for (const headers of [{}, { 'idempotency-key': randomUUID() }] as Record<string, string>[]) {
      const answer = await usual.request('POST', '/hooked.json', { json: { name: 'refused' }, headers });
      expect(answer.status).toBe(500);
    }
    expect(flushes()).toEqual([]);
    expect(seen.calls.filter((call) => call === 'validated')).toHaveLength(2);
    expect(Number((await other.query('select count(*) as n from orders')).rows[0].n)).toBe(before);
  });
});

describe.each(databases)('retries on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startOrders(database.url);
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const orders = async () => Number((await app.application.mapper.em.fork().execute('select count(*) as n from orders'))[0]?.n);

  test.each([
    ['without a key', {}],
    ['with a key', { 'idempotency-key': '1' }],
  ] as [string, Record<string, string>][])(
    'a handler that always fails runs four times if repeatable, otherwise once, %s',
    async (_, headers) => {
      const again = await app.request('POST', '/hooked/refail.json', { json: {}, headers });
      expect([again.status, again.headers.get('retry-after'), seen.calls.filter((call) => call === 'failed').length]).toEqual([
        503,
        '1',
        4,
      ]);
      seen.calls.length = 0;
      expect((await app.request('POST', '/hooked/fail.json', { json: {}, headers })).status).toBe(503);
      expect(seen.calls.filter((call) => call === 'failed')).toHaveLength(1);
    },
  );

  test('a committed request is not retried, whatever fails later', async () => {
    const before = await orders();
    const headers = { 'x-after': 'transient' };
    expect((await app.request('POST', '/hooked.json', { json: { name: 'committed' }, headers })).status).toBe(503);
    expect([await orders(), flushes().length]).toEqual([before + 1, 1]);
    // this one flushes before it fails, and says that it can be repeated
    seen.onAct = () => {
      throw Object.assign(new Error('in the way'), { code: '40001' });
    };
    seen.calls.length = 0;
    expect((await app.request('POST', '/hooked/again.json', { json: { text: 'committed' } })).status).toBe(503);
    expect(seen.calls.filter((call) => call === 'worked')).toHaveLength(1);
    // with a key it has committed nothing
    seen.calls.length = 0;
    const keyed = { json: { text: 'not committed' }, headers: { 'idempotency-key': '2' } };
    expect((await app.request('POST', '/hooked/again.json', keyed)).status).toBe(503);
    expect(seen.calls.filter((call) => call === 'worked')).toHaveLength(4);
  });

  test('a request is not retried after its client has disconnected', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    seen.onAct = async () => {
      socket.destroy();
      await sleep(50);
      resolve();
    };
    socket.write('POST /hooked/refail.json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
    await promise;
    await sleep(300);
    expect(seen.calls.filter((call) => call === 'failed')).toHaveLength(1);
  });

  test('a request of a disconnected client applies fully or not at all, and its key stays usable', async () => {
    const key = randomUUID();
    const before = await orders();
    const { hostname, port } = new URL(app.url);
    for (let i = 0; i < 10; i++) {
      const socket = connect(Number(port), hostname);
      const body = JSON.stringify({ name: 'aborted' });
      socket.write(
        `POST /hooked.json HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await sleep(i);
      socket.destroy();
    }
    const answer = await app.request('POST', '/hooked.json', { json: { name: 'aborted' }, headers: { 'idempotency-key': key } });
    expect([answer.status, await orders()]).toEqual([201, before + 1]);
  });

  if (kind === 'sqlite')
    test('a write waits for another writing process, with and without a key', async () => {
      const db = new DatabaseSync(database.url.slice('sqlite:'.length));
      try {
        for (const headers of [{}, { 'idempotency-key': randomUUID() }] as Record<string, string>[]) {
          db.exec('begin immediate');
          const asked = ['/plain.json', '/hooked.json'].map((path) =>
            app.request('POST', path, { json: { name: 'waited' }, headers }),
          );
          await sleep(150);
          db.exec('commit');
          const [first, second] = await Promise.all(asked);
          // one key cannot be for both
          expect([first?.status, second?.status].sort()).toEqual('idempotency-key' in headers ? [201, 422] : [201, 201]);
        }
      } finally {
        db.close();
      }
    });
});
