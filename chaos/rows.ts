import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { PostgresServer } from '../bench/postgres-server.ts';
import { writeApplication } from './application.ts';
import { type Asked, ask, atRate, clients, percentile, shown, tally } from './load.ts';
import { type ServedApplication, serve } from './server.ts';

export type Kind = 'sqlite' | 'postgresql';

/** What a row is run with. */
export interface Surroundings {
  readonly root: string;
  readonly kind: Kind;
  readonly postgres: PostgresServer;
  /** Whether a row is run in its short form. */
  readonly quick: boolean;
}

export interface Seen {
  readonly seen: string;
  readonly pass: boolean;
}

export interface Row {
  readonly name: string;
  readonly must: string;
  readonly kinds: readonly Kind[];
  run(surroundings: Surroundings): Promise<Seen>;
}

const both: readonly Kind[] = ['sqlite', 'postgresql'];
let databases = 0;

/** A new database: its address, and a way to ask it beside the application. */
async function freshDatabase({ kind, postgres, root }: Surroundings) {
  const name = `chaos_${process.pid}_${++databases}`;
  if (kind === 'sqlite') {
    const file = join(mkdtempSync(join(root, 'db-')), `${name}.db`);
    const query = async (sql: string) => {
      const db = new DatabaseSync(file);
      try {
        return db.prepare(sql).all() as Record<string, unknown>[];
      } finally {
        db.close();
      }
    };
    return { url: `sqlite:${file}`, query };
  }
  const url = new URL(postgres.url);
  await queryAt(url.href, `create database ${name}`);
  url.pathname = `/${name}`;
  return { url: url.href, query: (sql: string) => queryAt(url.href, sql) };
}

async function queryAt(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function withServer(
  surroundings: Surroundings,
  settings: { server?: object; database?: object; options?: readonly string[] },
  use: (server: ServedApplication, database: Awaited<ReturnType<typeof freshDatabase>>) => Promise<Seen>,
): Promise<Seen> {
  const database = await freshDatabase(surroundings);
  const directory = writeApplication(surroundings.root, database.url, settings.server, settings.database);
  const server = await serve(directory, settings.options);
  try {
    return await use(server, database);
  } finally {
    await server.end('SIGKILL');
  }
}

/** Reads and writes of every kind. */
function mixed(n: number): Asked {
  const id = (n % 200) + 1;
  switch (n % 5) {
    case 0:
      return { path: `/thing/${id}.json` };
    case 1:
      return { path: `/thing.json?page=${(n % 4) + 1}` };
    case 2:
      return { method: 'PATCH', path: `/thing/${id}.json`, json: { name: `thing ${n}` } };
    case 3:
      return { method: 'POST', path: `/thing/${id}/tags.json`, json: { id: (n % 20) + 1 } };
    default:
      return { method: 'DELETE', path: `/thing/${id}/tags.json`, json: { id: (n % 20) + 1 } };
  }
}

/** Connections of the application that are in a transaction. */
async function leftOpen({ kind }: Surroundings, query: (sql: string) => Promise<Record<string, unknown>[]>): Promise<string> {
  if (kind === 'sqlite') {
    await query('begin immediate');
    return '0 transactions';
  }
  const [row] = await query(
    "select count(*) filter (where state like 'idle in%') as open, count(*) as all from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  return `${row?.open} transactions, ${row?.all} connections`;
}

export const rows: readonly Row[] = [
  {
    name: 'SIGTERM under load',
    must: 'no accepted request dropped, exit 0 within 10 s',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 3 : 50;
      let lost = 0;
      let slowest = 0;
      let asked = 0;
      const codes = new Set<number | null>();
      for (let i = 0; i < times; i++) {
        await withServer(surroundings, {}, async (server) => {
          const load = clients(16, server.url, mixed);
          await sleep(300 + Math.random() * 500);
          const { code, took } = await server.end();
          const outcomes = await load.stop();
          codes.add(code);
          slowest = Math.max(slowest, took);
          asked += outcomes.length;
          lost += outcomes.filter(({ status }) => status === 'lost' || (typeof status === 'number' && status >= 500)).length;
          return { seen: '', pass: true };
        });
      }
      const pass = lost === 0 && slowest < 10_000 && codes.size === 1 && codes.has(0);
      return {
        seen: `${times} ends, ${asked} requests, ${lost} lost, slowest ${Math.round(slowest)} ms, exit ${[...codes]}`,
        pass,
      };
    },
  },
  {
    name: 'PostgreSQL restarted under load',
    must: 'only 503 while away, recovered within 2 s of its return',
    kinds: ['postgresql'],
    run: (surroundings) =>
      withServer(surroundings, {}, async (server) => {
        const times = surroundings.quick ? 2 : 20;
        const load = clients(8, server.url, mixed);
        let slowest = 0;
        await sleep(500);
        for (let i = 0; i < times; i++) {
          await surroundings.postgres.restart(500);
          const back = performance.now();
          while ((await ask(server.url, { path: '/thing/1.json' })).status !== 200) await sleep(10);
          slowest = Math.max(slowest, performance.now() - back);
          await sleep(500);
        }
        const counts = tally(await load.stop());
        const wrong = Object.keys(counts).filter((status) => !['200', '503'].includes(status));
        return {
          seen: `${times} restarts: ${shown(counts)}; back after ${Math.round(slowest)} ms at most`,
          pass: wrong.length === 0 && slowest < 2000,
        };
      }),
  },
  {
    name: 'PostgreSQL stopped (SIGSTOP)',
    must: 'bounded 503s, health live, no connection leaked afterwards',
    kinds: ['postgresql'],
    run: (surroundings) =>
      withServer(
        surroundings,
        { database: { statement_timeout: 2000, connect_timeout: 2000 } },
        async (server, { query, url }) => {
          const seconds = surroundings.quick ? 6 : 30;
          await Promise.all(Array.from({ length: 20 }, (_, n) => ask(server.url, mixed(n))));
          const [{ pids }] = (await query(
            `select array_agg(pid) as pids from pg_stat_activity where datname = '${new URL(url).pathname.slice(1)}'`,
          )) as [{ pids: number[] }];
          const all = [surroundings.postgres.pid(), ...pids];
          const signal = (name: NodeJS.Signals) => {
            for (const pid of all) spawnSync('kill', [`-${name.slice(3)}`, String(pid)]);
          };
          signal('SIGSTOP');
          const load = clients(16, server.url, mixed);
          let live = 0;
          let ready = 0;
          for (let i = 0; i < seconds * 2; i++) {
            const [one, two] = await Promise.all([
              ask(server.url, { path: '/health/live' }),
              ask(server.url, { path: '/health/ready' }),
              sleep(500),
            ]);
            live = Math.max(live, one.status === 200 ? one.took : Number.POSITIVE_INFINITY);
            ready = Math.max(ready, two.took);
          }
          signal('SIGCONT');
          const back = performance.now();
          while ((await ask(server.url, { path: '/thing/1.json' })).status !== 200) await sleep(10);
          const took = performance.now() - back;
          const outcomes = await load.stop();
          await sleep(3000);
          const left = await leftOpen(surroundings, query);
          const slowest = Math.max(...outcomes.map((outcome) => outcome.took));
          const counts = tally(outcomes);
          const wrong = Object.keys(counts).filter((status) => !['200', '503'].includes(status));
          const pass =
            wrong.length === 0 &&
            slowest < 10_000 &&
            live < 1000 &&
            ready < 2500 &&
            /^0 .* ([0-9]|1\d|2[0-2]) connections/.test(left);
          return {
            seen: `${shown(counts)}, slowest ${Math.round(slowest)} ms; live within ${Math.round(live)} ms, ready told within ${Math.round(ready)} ms; back after ${Math.round(took)} ms; ${left}`,
            pass,
          };
        },
      ),
  },
  {
    name: 'pool of one, busy',
    must: '404, 405, 401 and health still answer at once',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { database: { pool: 1 } }, async ({ url }) => {
        const held = ask(url, { path: '/thing/hold.json?wait=1500' });
        await sleep(300);
        const asked: Asked[] = [
          { path: '/nothing.json' },
          { method: 'PUT', path: '/thing.json' },
          { path: '/guarded.json' },
          { path: '/health/live' },
          { path: '/health/ready' },
        ];
        const outcomes = await Promise.all(asked.map((one) => ask(url, one)));
        const statuses = outcomes.map(({ status }) => status).join(' ');
        const slowest = Math.max(...outcomes.map(({ took }) => took));
        const { took } = await held;
        return {
          seen: `${statuses} within ${Math.round(slowest)} ms, while one held it for ${Math.round(took)} ms`,
          pass: statuses === '404 405 401 200 200' && slowest < 500,
        };
      }),
  },
  {
    name: 'three times the capacity',
    must: 'excess shed; accepted p99 at most twice the usual',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }) => {
        const seconds = surroundings.quick ? 8 : 60;
        const work = (): Asked => ({ path: '/work.json?busy=2' });
        const warm = clients(64, url, work);
        await sleep(2000);
        await warm.stop();
        const usual = clients(64, url, work);
        await sleep(4000);
        const before = await usual.stop();
        const capacity = before.length / 4;
        const outcomes = await atRate(3 * capacity, seconds, url, work);
        const accepted = outcomes.filter(({ status }) => status === 200);
        const shed = outcomes.filter(({ status }) => status === 503);
        const ratio = percentile(accepted, 0.99) / percentile(before, 0.99);
        const pass = accepted.length + shed.length === outcomes.length && shed.length > 0 && ratio <= 2;
        return {
          seen: `capacity ${Math.round(capacity)}/s; of ${outcomes.length}: ${accepted.length} served, ${shed.length} shed (p99 ${Math.round(percentile(shed, 0.99))} ms); p99 ${Math.round(percentile(before, 0.99))} → ${Math.round(percentile(accepted, 0.99))} ms, × ${ratio.toFixed(2)}`,
          pass,
        };
      }),
  },
  {
    name: 'slow clients (headers and bodies)',
    must: "closed in time, others' p99 at most doubled",
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { server: { header_timeout: 2000, request_timeout: 3000 } }, async ({ url }) => {
        const count = surroundings.quick ? 100 : 500;
        const { hostname, port } = new URL(url);
        const read = (n: number): Asked => ({ path: `/thing/${(n % 200) + 1}.json` });
        const warm = clients(8, url, read);
        await sleep(1500);
        await warm.stop();
        const usual = clients(8, url, read);
        await sleep(2000);
        const before = await usual.stop();
        const start = performance.now();
        const closed: number[] = [];
        const sockets: Socket[] = Array.from({ length: count }, (_, i) => {
          const socket = connect(Number(port), hostname).on('error', () => undefined);
          socket.on('close', () => closed.push(performance.now() - start)).resume();
          const head = `POST /thing.json HTTP/1.1\r\nHost: x\r\n`;
          socket.write(i % 2 ? head : `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
          const timer = setInterval(() => socket.write(i % 2 ? `X-${i}: y\r\n` : ' '), 500);
          socket.on('close', () => clearInterval(timer));
          return socket;
        });
        const others = clients(8, url, read);
        await sleep(5500);
        const during = await others.stop();
        for (const socket of sockets) socket.destroy();
        const ratio = percentile(during, 0.99) / percentile(before, 0.99);
        const pass = closed.length === count && ratio <= 2 && during.every(({ status }) => status === 200);
        return {
          seen: `${closed.length} of ${count} closed, the last after ${Math.round(Math.max(...closed))} ms; others' p99 ${percentile(before, 0.99).toFixed(1)} → ${percentile(during, 0.99).toFixed(1)} ms, × ${ratio.toFixed(2)}`,
          pass,
        };
      }),
  },
  {
    name: 'client aborts',
    must: 'no transaction or connection left',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }, { query }) => {
        const count = surroundings.quick ? 500 : 10_000;
        const { hostname, port } = new URL(url);
        const abort = async (n: number) => {
          const { method = 'GET', path, json } = mixed(n);
          const body = json === undefined ? '' : JSON.stringify(json);
          const socket = connect(Number(port), hostname).on('error', () => undefined);
          socket.write(
            `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
          await sleep(Math.random() * 10);
          socket.resetAndDestroy();
        };
        for (let n = 0; n < count; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => abort(n + i)));
        await sleep(1000);
        const left = await leftOpen(surroundings, query);
        const after = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(url, mixed(n))));
        const well = after.every(({ status }) => status === 200);
        return { seen: `${count} aborts: ${left}; afterwards ${shown(tally(after))}`, pass: well && left.startsWith('0 ') };
      }),
  },
  {
    name: 'mixed load, memory',
    must: 'RSS slope under 1 MiB in the second half',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async (server) => {
        const seconds = surroundings.quick ? 20 : 600;
        const load = clients(16, server.url, mixed);
        const samples: { at: number; size: number }[] = [];
        for (let i = 0; i < seconds; i++) {
          await sleep(1000);
          samples.push({ at: i, size: server.memory().now });
        }
        const counts = tally(await load.stop());
        const half = samples.slice(samples.length / 2);
        const mean = (of: (sample: { at: number; size: number }) => number) =>
          half.reduce((sum, one) => sum + of(one), 0) / half.length;
        const [x, y] = [mean(({ at }) => at), mean(({ size }) => size)];
        const slope =
          half.reduce((sum, { at, size }) => sum + (at - x) * (size - y), 0) /
          half.reduce((sum, { at }) => sum + (at - x) ** 2, 0);
        const growth = slope * half.length;
        // a short run is over before the heap has found its size
        const most = surroundings.quick ? 40 : 1;
        return {
          seen: `${seconds} s, ${shown(counts)}: ${y.toFixed(0)} MiB, ${growth.toFixed(2)} MiB in the second half (at most ${most})`,
          pass: growth < most && Object.keys(counts).every((status) => status === '200'),
        };
      }),
  },
  {
    name: 'body of the maximum size; a list body of 10,000 items',
    must: 'peak growth at most 4 × body',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { server: { body_limit: 16_777_216 } }, async (server) => {
        await Promise.all(Array.from({ length: 50 }, (_, n) => ask(server.url, mixed(n))));
        const seen: string[] = [];
        let pass = true;
        for (const data of [
          'x'.repeat(16_700_000),
          Array.from({ length: 10_000 }, (_, id) => ({ id, name: 'y'.repeat(1500) })),
        ]) {
          const size = JSON.stringify({ name: 'n', data }).length / 1_048_576;
          const { now } = server.memory();
          const { status } = await ask(server.url, { method: 'POST', path: '/thing.json', json: { name: 'n', data } });
          const grown = Math.max(server.memory().peak - now, 0);
          pass &&= status === 201 && grown <= 4 * size;
          seen.push(`${size.toFixed(1)} MiB: ${status}, + ${grown.toFixed(0)} MiB, × ${(grown / size).toFixed(1)}`);
        }
        return { seen: seen.join('; '), pass };
      }),
  },
  {
    name: 'kill -9 during writes',
    must: 'no acknowledged write lost, no half-written association, integrity check passes',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 3 : 200;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      const acknowledged = new Set<string>();
      for (let i = 0; i < times; i++) {
        const server = await serve(directory);
        const load = clients(8, server.url, (n) => ({
          method: 'POST',
          path: '/thing.json',
          json: { name: `round ${i} write ${n}` },
        }));
        await sleep(100 + Math.random() * 300);
        await server.end('SIGKILL');
        for (const { status, body } of await load.stop()) if (status === 201) acknowledged.add(JSON.parse(body).name);
      }
      const found = new Set(
        (await database.query("select name from thing where name like 'round%'")).map(({ name }) => String(name)),
      );
      const lost = [...acknowledged].filter((name) => !found.has(name)).length;
      const orphans = await database.query(
        'select 1 from thing_tags t where not exists (select 1 from thing where thing.id = t.thing_id) or not exists (select 1 from tag where tag.id = t.tag_id)',
      );
      const integrity =
        surroundings.kind === 'sqlite' ? String((await database.query('pragma integrity_check'))[0]?.integrity_check) : 'ok';
      return {
        seen: `${times} kills, ${acknowledged.size} acknowledged, ${lost} lost, ${orphans.length} half, integrity ${integrity}`,
        pass: lost === 0 && orphans.length === 0 && integrity === 'ok' && acknowledged.size > 0,
      };
    },
  },
  {
    name: 'fsync for each acknowledged commit',
    must: 'at least one',
    kinds: ['sqlite'],
    async run(surroundings) {
      if (spawnSync('strace', ['-V']).status !== 0) return { seen: 'there is no strace here', pass: false };
      const database = await freshDatabase(surroundings);
      const trace = join(surroundings.root, `strace-${databases}.txt`);
      const strace = ['strace', '-f', '-e', 'trace=fsync,fdatasync', '-o', trace];
      const server = await serve(writeApplication(surroundings.root, database.url), [], strace);
      const syncs = () => (readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+\)? /g) ?? []).length;
      try {
        await sleep(500);
        const before = syncs();
        let written = 0;
        for (let n = 0; n < 20; n++) {
          const { status } = await ask(server.url, {
            method: 'PATCH',
            path: `/thing/${n + 1}.json`,
            json: { name: `sync ${n}` },
          });
          if (status === 200) written++;
        }
        await sleep(300);
        const after = syncs();
        return { seen: `${written} commits, ${after - before} syncs`, pass: written === 20 && after - before >= written };
      } finally {
        await server.end('SIGKILL');
      }
    },
  },
];
