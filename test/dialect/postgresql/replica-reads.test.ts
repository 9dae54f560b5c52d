import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, MikroORM, p } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { includes, type Position, positionIn, replicaPosition } from '../../../src/dialect/postgresql/replicas/position.ts';
import { BehindError, ReplicaSession } from '../../../src/dialect/postgresql/replicas/replica-session.ts';
import { createServer } from '../../../src/index.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { freePort } from '../../support/postgres.ts';
import { seed } from '../../support/random.ts';
import { type ReplicatedServer, startReplicatedServer } from '../../support/replica.ts';
import { startApplication, type TestApplication } from '../../support/testing.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    version: p.integer().version(),
  },
});

/** A view that shows which server was read. */
const Place = defineEntity({
  name: 'Place',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read'),
    onReplica: p.boolean().groups('read'),
  },
});

/** The same, read within a second. */
const SlowPlace = defineEntity({
  name: 'SlowPlace',
  properties: { id: p.integer().primary().groups('read'), onReplica: p.boolean().groups('read') },
});

/** A table that replicas do not have. */
const Scratch = defineEntity({
  name: 'Scratch',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read') },
});

const tables = `
  create table note (id serial primary key, text varchar(255) not null, version int not null default 1);
  insert into note (text) select 'note ' || i from generate_series(1, 3) as i;
  create view place as select id, text, pg_is_in_recovery() as on_replica from note;
  create view slow_place as select id, pg_is_in_recovery() and pg_sleep(1) is not null as on_replica from note where id = 1;
  create unlogged table scratch as select 1 as id, 'kept'::text as text`;

const patience = { timeout: 30_000, interval: 50 };

let server: ReplicatedServer;
let primary: Client;
let replica: Client;
const running: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  server = await startReplicatedServer();
  primary = await connected(server.primary);
  replica = await connected(server.replica);
  await primary.query(tables);
}, 60_000);

afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()));
  const { rows } = await replica.query('select pg_is_in_recovery() as is_replica');
  if (rows[0].is_replica) await replica.query('select pg_wal_replay_resume()');
});

afterAll(async () => {
  await Promise.all([primary?.end(), replica?.end()]);
  await server?.stop();
});

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function options(replicas: readonly string[] = [server.replica], database: object = {}) {
  const reads = { _index: { methods: { GET: true, HEAD: true } }, _entity: { methods: { GET: true, HEAD: true } } } as const;
  const all = {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
  } as const;
  return {
    app_main: {
      formats: ['json', 'csv'],
      database: { url: server.primary, schema: 'none', replicas, ...database },
      server: { metrics: { role: null } },
      apis: {
        note: { class: Note, base_path: '/note', actions: all },
        place: { class: Place, base_path: '/place', actions: reads },
        slow: { class: SlowPlace, base_path: '/slow', actions: reads },
        scratch: { class: Scratch, base_path: '/scratch', actions: reads },
      },
    },
    models: [Note, Place, Scratch, SlowPlace],
  } as const;
}

/** Starts an application, and waits until it reads from its replica. */
async function start(given = options()): Promise<TestApplication> {
  const app = await startApplication(given as never);
  running.push(app);
  await vi.waitFor(async () => expect(await isOnReplica(app)).toBe(true), patience);
  return app;
}

async function isOnReplica(app: TestApplication): Promise<boolean> {
  const { json, status } = await app.request('GET', '/place/1.json');
  expect(status).toBe(200);
  return json.onReplica;
}

async function usable(app: TestApplication): Promise<number> {
  const { json, status } = await app.request('GET', '/health/ready');
  expect([status, json.status, json.replicas.declared]).toEqual([200, 'ok', 1]);
  return json.replicas.usable;
}

describe('an application with a replica', () => {
  test('reads entities, lists and exports from the replica, and shows it in health and metrics', async () => {
    const app = await start();
    expect((await app.request('GET', '/place.json')).json.results).toEqual(
      [1, 2, 3].map((id) => ({ id, text: `note ${id}`, onReplica: true })),
    );
    expect((await app.request('GET', '/place.csv')).text.split('\r\n')[1]).toBe('1,note 1,true');
    expect((await app.request('HEAD', '/place.json')).status).toBe(200);
    expect(await usable(app)).toBe(1);
    const metrics = (await app.request('GET', '/metrics')).text;
    const { host } = new URL(server.replica);
    expect(metrics).toContain(`db_replica_usable{replica="${host}"} 1`);
    expect(metrics).toMatch(new RegExp(`db_connections\\{pool="replica ${host}",state="idle"\\} [1-9]`));
  });

  test('reads its own writes and those of other processes, however far the replica is behind', async () => {
    const [first, second] = [await start(), await start()];
    await replica.query('select pg_wal_replay_pause()');
    const created = await first.request('POST', '/note.json', { json: { text: 'new' } });
    expect(created.status).toBe(201);
    const { id } = created.json;
    for (const app of [first, second]) {
      expect((await app.request('GET', `/place/${id}.json`)).json).toEqual({ id, text: 'new', onReplica: false });
      expect((await app.request('GET', '/place.json')).json.results.at(-1)).toMatchObject({ id, onReplica: false });
      expect((await app.request('GET', '/place.csv')).text).toContain(`${id},new,false`);
    }
    // another connection than those of the applications
    await primary.query(`update note set text = 'changed' where id = ${id}`);
    expect((await second.request('GET', `/place/${id}.json`)).json.text).toBe('changed');
    await replica.query('select pg_wal_replay_resume()');
    for (const app of [first, second]) await vi.waitFor(async () => expect(await isOnReplica(app)).toBe(true), patience);
    expect((await first.request('DELETE', `/note/${id}.json`)).status).toBe(204);
    for (const app of [first, second]) expect((await app.request('GET', `/place/${id}.json`)).status).toBe(404);
  });

  test('has the same entity tags on both servers', async () => {
    const app = await start();
    const path = '/note/1.json';
    const read = async () => (await app.request('GET', path)).headers.get('etag') as string;
    const onReplica = await read();
    await replica.query('select pg_wal_replay_pause()');
    await primary.query('create table if not exists other (id int)');
    expect(await read()).toBe(onReplica);
    const changed = await app.request('PATCH', path, { json: { text: 'changed' }, headers: { 'if-match': onReplica } });
    expect(changed.status).toBe(200);
    expect((await app.request('GET', path, { headers: { 'if-none-match': onReplica } })).status).toBe(200);
    const onPrimary = await read();
    expect((await app.request('GET', path, { headers: { 'if-none-match': onPrimary } })).status).toBe(304);
    await replica.query('select pg_wal_replay_resume()');
    await vi.waitFor(async () => expect(await isOnReplica(app)).toBe(true), patience);
    expect((await app.request('GET', path, { headers: { 'if-none-match': onPrimary } })).status).toBe(304);
    const stale = { json: { text: 'note 1' }, headers: { 'if-match': onReplica } };
    expect((await app.request('PATCH', path, stale)).status).toBe(412);
    expect((await app.request('PATCH', path, { json: { text: 'note 1' } })).status).toBe(200);
  });

  test('skips a replica beyond replica_max_lag without waiting, and uses it again', async () => {
    const app = await start(options([server.replica], { replica_max_lag: 200 }));
    await replica.query('select pg_wal_replay_pause()');
    expect((await app.request('PATCH', '/note/1.json', { json: { text: 'note 1' } })).status).toBe(200);
    await vi.waitFor(async () => expect(await usable(app)).toBe(0), patience);
    expect(await isOnReplica(app)).toBe(false);
    await replica.query('select pg_wal_replay_resume()');
    await vi.waitFor(async () => expect(await usable(app)).toBe(1), patience);
    expect(await isOnReplica(app)).toBe(true);
  });

  test('has no failed request while the replica dies and returns', async () => {
    const app = await start();
    const failures: unknown[] = [];
    let isOver = false;
    const reader = async () => {
      while (!isOver) {
        for (const path of ['/place.json', '/place/2.json', '/place.csv']) {
          const { status, text } = await app.request('GET', path);
          if (status !== 200) failures.push([path, status, text]);
        }
      }
    };
    const readers = [reader(), reader()];
    await replica.end();
    await server.killReplica();
    await vi.waitFor(async () => expect(await usable(app)).toBe(0), patience);
    await server.restartReplica();
    replica = await connected(server.replica);
    await vi.waitFor(async () => expect(await isOnReplica(app)).toBe(true), patience);
    isOver = true;
    await Promise.all(readers);
    expect(failures).toEqual([]);
  }, 60_000);

  test('repeats reads on the primary that the replica cancels or cannot run', async () => {
    const app = await start();
    for (const path of ['/scratch.json', '/scratch/1.json', '/scratch.csv', '/scratch/1.json'])
      expect([path, (await app.request('GET', path)).status]).toEqual([path, 200]);
    await replica.query('alter system set max_standby_streaming_delay = 0');
    await replica.query('select pg_reload_conf()');
    const slow = app.request('GET', '/slow/1.json');
    const reading = () =>
      replica.query("select from pg_stat_activity where query like '%slow_place%' and wait_event = 'PgSleep'");
    await vi.waitFor(async () => expect((await reading()).rowCount).toBe(1), patience);
    // the rows that the read may need are removed
    await primary.query("insert into note (text) values ('removed')");
    await primary.query("delete from note where text = 'removed'");
    await primary.query('vacuum note');
    expect(await slow).toMatchObject({ status: 200, json: { id: 1, onReplica: false } });
    await replica.query('alter system reset max_standby_streaming_delay');
    await replica.query('select pg_reload_conf()');
  });

  test('reads lists and entities through poolers, and exports from the primary', async () => {
    const poolers = [await startPgBouncer(server.primary, 3), await startPgBouncer(server.replica, 3)] as const;
    running.push(...poolers.map(({ stop }) => ({ close: stop })));
    const app = await start(options([poolers[1].url], { url: poolers[0].url }));
    expect((await app.request('GET', '/place.json')).json.results[0]).toMatchObject({ id: 1, onReplica: true });
    expect((await app.request('GET', '/place.csv')).text).toContain('1,note 1,false');
    await replica.query('select pg_wal_replay_pause()');
    const { id } = (await app.request('POST', '/note.json', { json: { text: 'pooled' } })).json;
    expect((await app.request('GET', `/place/${id}.json`)).json).toEqual({ id, text: 'pooled', onReplica: false });
    await app.close();
    running.splice(running.indexOf(app), 1);
  });

  test('repeats reads on the primary if the replica does not respond', async () => {
    const app = await start();
    server.freezeReplica(true);
    try {
      const responses = await Promise.all(['/place.json', '/place/2.json'].map((path) => app.request('GET', path)));
      expect(responses.map(({ status }) => status)).toEqual([200, 200]);
      expect(responses[1]?.json.onReplica).toBe(false);
      expect(await usable(app)).toBe(0);
    } finally {
      server.freezeReplica(false);
    }
    await vi.waitFor(async () => expect(await isOnReplica(app)).toBe(true), patience);
  }, 60_000);

  test('starts without its replica, and logs the reason and the return', async () => {
    const lines: { msg: string; reason?: string; replica?: string }[] = [];
    const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
    const [closed, other] = [`127.0.0.1:${await freePort()}`, new URL(server.primary).host];
    const urls = [server.replica, server.replica.replace(/127.0.0.1:\d+/, closed), server.primary];
    const app = await createServer({ ...(options(urls) as any), fastify: { logger: { level: 'info', stream } } });
    running.push(app);
    const about = () => lines.filter(({ replica }) => replica).map(({ msg, reason, replica }) => ({ msg, reason, replica }));
    const unused = 'the replica is not used; the primary serves its reads';
    const expected = [
      { msg: 'the replica serves reads', replica: new URL(server.replica).host },
      { msg: unused, reason: expect.stringContaining('ECONNREFUSED'), replica: closed },
      { msg: unused, reason: 'the server is not a streaming replica', replica: other },
    ];
    await vi.waitFor(() => expect(about()).toHaveLength(3), patience);
    expect(about()).toEqual(expect.arrayContaining(expected));
    const { json } = await app.inject('/health/ready').then((response) => ({ json: response.json() }));
    expect(json).toEqual({ status: 'ok', replicas: { usable: 1, declared: 3 } });
  });
});

test('rejects replicas that cannot be used', async () => {
  const started = (database: object) =>
    startApplication({ ...options(), app_main: { ...options().app_main, database } } as never);
  await expect(started({ url: 'sqlite::memory:', replicas: [server.replica] })).rejects.toThrow(
    /replicas.*SQLite has no replicas; remove replicas, or set database.url to a PostgreSQL server/,
  );
  await expect(started({ url: server.primary, replicas: ['sqlite:a.db'] })).rejects.toThrow(
    /replicas.*must be an address that begins with postgresql:/,
  );
  await expect(started({ url: server.primary, replicas: ['postgresql://a:b@host:port/x'] })).rejects.toThrow(
    /replicas.*the address cannot be read; write postgresql:/,
  );
});

test('an existing MikroORM application can have replicas, unless every read needs MikroORM', async () => {
  const entities = [Note, Place, Scratch, SlowPlace];
  const given = options();
  const database = { schema: 'none', replicas: [server.replica] };
  const optionsWith = (further: object) => ({
    app_main: { ...given.app_main, database },
    orm: new MikroORM({ driver: PostgreSqlDriver, clientUrl: server.primary, entities, ...further } as never),
  });
  await start(optionsWith({}) as never);
  await expect(startApplication(optionsWith({ onQuery: (sql: string) => sql }) as never)).rejects.toThrow(
    /replicas.*the MikroORM configuration has onQuery or forceEntityConstructor, so that every read uses the primary/,
  );
});

test('each connection to a replica checks the position itself, because a URL may lead to several servers', async () => {
  const { application } = await start();
  const { database } = application.declaration;
  const session = new ReplicaSession({ ...database, url: server.replica }, {}, { bytes: 1_000_000 });
  const statement = { name: 'one', text: 'select 1', wide: false };
  const { rows } = await replica.query({ text: replicaPosition.text, rowMode: 'array' });
  const replayed = positionIn(rows) as Position;
  const later = { ...replayed, lsn: replayed.lsn + 1_000_000_000n };
  for (const missed of [later, { ...replayed, history: 'another' }]) {
    await expect(session.rows(missed, statement, [])).rejects.toThrow(BehindError);
    await expect(session.open(missed, statement, [], 10)).rejects.toThrow(BehindError);
  }
  expect(await session.rows(replayed, statement, [])).toEqual([['1']]);
  const cursor = await session.open(replayed, statement, [], 10);
  expect(await cursor.next(10)).toEqual([['1']]);
  expect(await cursor.next(10)).toEqual([]);
  await cursor.close();
  await session.close();
});

test('a position includes only earlier positions of the same history', () => {
  const position = (history: string, lsn: string) => positionIn([[history, lsn]]) as Position;
  expect(includes(position('1 00000001', '1/0'), position('1 00000001', '0/FFFFFFFF'))).toBe(true);
  expect(includes(position('1 00000001', '1/0'), position('1 00000001', '1/0'))).toBe(true);
  expect(includes(position('1 00000001', '1/0'), position('1 00000001', '1/1'))).toBe(false);
  expect(includes(position('1 00000001', '1/0'), position('1 00000002', '0/1'))).toBe(false);
  expect(includes(position('2 00000001', '1/0'), position('1 00000001', '0/1'))).toBe(false);
  expect(includes(null, position('1 00000001', '0/1'))).toBe(false);
  expect([positionIn([]), positionIn([['1 00000001', null]])]).toEqual([null, null]);
});

/** A linear congruential generator, so that a failure can be repeated by its seed. */
function random(start: number): (below: number) => number {
  let state = BigInt(start);
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(below));
  };
}

test(`every caller reads its own writes on either process, with random pauses of replay (seed ${seed})`, async () => {
  const apps = [await start(), await start()] as const;
  const of = random(seed);
  let isOver = false;
  let fromReplica = 0;
  const faults: unknown[] = [];
  const pausing = async () => {
    while (!isOver) {
      await replica.query('select pg_wal_replay_pause()');
      await sleep(of(100));
      await replica.query('select pg_wal_replay_resume()');
      await sleep(of(600));
    }
  };
  const caller = async (name: string, next: (below: number) => number) => {
    const { id } = (await apps[0].request('POST', '/note.json', { json: { text: `${name} 0` } })).json;
    for (let step = 0, written = 0; step < 60 || (fromReplica === 0 && step < 2000); step++) {
      const app = apps[next(2)] as TestApplication;
      if (next(3) === 0) {
        written++;
        await app.request('PATCH', `/note/${id}.json`, { json: { text: `${name} ${written}` } });
        continue;
      }
      const form = next(3);
      const response = await app.request('GET', ['/place.json', `/place/${id}.json`, '/place.csv'][form] as string);
      const row = form === 1 ? response.json : form === 0 ? response.json.results.find((item: any) => item.id === id) : null;
      const text = row ? row.text : new RegExp(`^${id},(.*),`, 'm').exec(response.text)?.[1];
      if (text !== `${name} ${written}`) faults.push({ name, step, form, text, written });
      if (row?.onReplica) fromReplica++;
    }
  };
  const pauses = pausing();
  await Promise.all(['a', 'b', 'c'].map((name, i) => caller(name, random(seed + i + 1))));
  isOver = true;
  await pauses;
  expect(faults).toEqual([]);
  expect(fromReplica).toBeGreaterThan(0);
}, 60_000);

test('a replica that was promoted is not used any more', async () => {
  const app = await start();
  await replica.query('select pg_promote()');
  await vi.waitFor(async () => expect(await usable(app)).toBe(0), patience);
  await replica.query("insert into note (text) values ('of the other primary')");
  expect((await app.request('GET', '/place.json')).text).not.toContain('of the other primary');
  expect(await isOnReplica(app)).toBe(false);
});
