// Compares 200 rows in one request with 200 requests, and with a hand-written multi-row insert that has the same checks.
// `node bench/bulk.ts [--seconds N]` prints rows a second on both databases.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineEntity, p } from '@mikro-orm/core';
import Fastify, { type FastifyInstance } from 'fastify';
import pg from 'pg';
import { runApplication } from '../src/inspect/running-application.ts';
import { startPostgres } from './postgres-server.ts';

const size = 200;
const at = process.argv.indexOf('--seconds');
const seconds = at < 0 ? 2 : Number(process.argv[at + 1]);
const rounds = 3;

const Member = defineEntity({
  name: 'Member',
  tableName: 'member',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(80).groups('read', 'write'),
    email: p.string().length(120).groups('read', 'write'),
    age: p.integer().nullable().groups('read', 'write'),
    active: p.boolean().default(true).groups('read', 'write'),
  },
});

interface Row {
  readonly name: string;
  readonly email: string;
  readonly age: number | null;
  readonly active: boolean;
}

type Insert = (rows: readonly Row[]) => unknown[] | Promise<unknown[]>;

const columns = ['name', 'email', 'age', 'active'] as const;

/** The same checks as those of the model. */
function checked(body: unknown): Row[] {
  if (!Array.isArray(body) || body.length > 1000) throw new Error('not a list');
  return body.map((item: Record<string, unknown>) => {
    for (const key of Object.keys(item)) if (!columns.some((column) => column === key)) throw new Error(`unknown field ${key}`);
    const { active = true, age = null, email, name } = item;
    const isText = (value: unknown, most: number): value is string => typeof value === 'string' && value.length <= most;
    if (!isText(name, 80) || !isText(email, 120) || typeof active !== 'boolean') throw new Error('wrong type');
    if (age !== null && !(Number.isInteger(age) && Math.abs(age as number) < 2 ** 31)) throw new Error('wrong age');
    return { name, email, age: age as number | null, active };
  });
}

async function byHand(insert: Insert): Promise<{ url: string; app: FastifyInstance }> {
  const app = Fastify();
  app.post('/api/member.json', async (request, reply) => {
    const results = await insert(checked(request.body));
    return reply.code(201).send({ count: results.length, results });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
}

function sqliteInsert(file: string): Insert {
  const db = new DatabaseSync(file);
  db.exec('pragma synchronous = full; pragma busy_timeout = 5000');
  return (rows) => {
    const values = rows.map(() => '(?, ?, ?, ?)').join(', ');
    const statement = db.prepare(`insert into member (${columns.join(', ')}) values ${values} returning *`);
    const found = statement.all(...rows.flatMap(({ active, age, email, name }) => [name, email, age, Number(active)]));
    return found.map((row) => ({ ...row, active: row.active === 1 }));
  };
}

function postgresInsert(pool: pg.Pool): Insert {
  return async (rows) => {
    const values = rows.map((_, i) => `($${4 * i + 1}, $${4 * i + 2}, $${4 * i + 3}, $${4 * i + 4})`).join(', ');
    const parameters = rows.flatMap(({ active, age, email, name }) => [name, email, age, active]);
    const sql = `insert into member (${columns.join(', ')}) values ${values} returning *`;
    return (await pool.query({ name: `insert${rows.length}`, text: sql, values: parameters })).rows;
  };
}

const rowOf = (i: number) => ({ name: `Member ${i}`, email: `member${i}@example.org`, age: i % 90 });
const list = JSON.stringify(Array.from({ length: size }, (_, i) => rowOf(i)));

/** Rows a second. */
async function measure(url: string, body: string, rows: number): Promise<number> {
  const start = performance.now();
  let written = 0;
  while (performance.now() - start < seconds * 1000) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/member.json`, { method: 'POST', headers, body });
    if (response.status !== 201) throw new Error(await response.text());
    await response.arrayBuffer();
    written += rows;
  }
  return (written / (performance.now() - start)) * 1000;
}

const median = (figures: readonly number[]) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] as number;

async function compare(database: string, url: string, insertOf: () => Insert): Promise<void> {
  const apis = {
    member: {
      class: 'Member',
      base_path: '/api/member',
      actions: { _index: { methods: { POST: true }, bulk: { POST: true } } },
    },
  };
  const ours = await runApplication({ app_main: { database: { url, schema: 'update' }, apis } as never, models: [Member] });
  const theirs = await byHand(insertOf());
  const [inBulk, alone, manual]: number[][] = [[], [], []];
  for (let round = 0; round <= rounds; round++) {
    const figures = [
      await measure(ours.url, list, size),
      await measure(ours.url, JSON.stringify(rowOf(1)), 1),
      await measure(theirs.url, list, size),
    ];
    // the first round warms up
    if (round > 0) for (const [i, one] of [inBulk, alone, manual].entries()) one?.push(figures[i] as number);
  }
  const [bulk, single, hand] = [inBulk, alone, manual].map((figures) => median(figures as number[])) as [number, number, number];
  console.log(
    `${database}: ${Math.round(bulk)} rows/s in lists of ${size}, ${Math.round(single)} alone (× ${(bulk / single).toFixed(1)}), ` +
      `${Math.round(hand)} by hand (× ${(bulk / hand).toFixed(2)})`,
  );
  await theirs.app.close();
  await ours.close();
}

const directory = mkdtempSync(join(tmpdir(), 'declarest-bulk-'));
// the server may run as another user
chmodSync(directory, 0o755);
const server = await startPostgres(directory);
try {
  const file = join(directory, 'bulk.db');
  await compare('SQLite', `sqlite:${file}`, () => sqliteInsert(file));
  const pool = new pg.Pool({ connectionString: server.url });
  await compare('PostgreSQL', server.url, () => postgresInsert(pool));
  await pool.end();
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
