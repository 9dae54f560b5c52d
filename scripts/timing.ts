// Measures whether response times distinguish hidden rows from missing ones: `npm run timing`, or with `-- --samples 200`.
// For each kind of request, it sends both in random order over one connection. The AUC is the probability that a guess by
// response time is right: 0.5 is chance, and 0.6 or more is a failure.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../bench/postgres-server.ts';
import { type RunningApplication, runApplication } from '../src/inspect/running-application.ts';
import { ann, vault } from '../test/attacks/support/vault.ts';

/** From this AUC on, response times distinguish hidden rows from missing ones. */
export const highestAuc = 0.6;

/** Pages of another caller, and pages that do not exist, with ids of the same length. */
const ids = { hidden: [2, 4, 6], missing: [7, 8, 9] };
type Kind = keyof typeof ids;

type Probe = [name: string, method: string, path: (id: number) => string, body?: (id: number) => unknown];

const probes: Probe[] = [
  ['GET', 'GET', (id) => `/page/${id}.json`],
  ['PATCH', 'PATCH', (id) => `/page/${id}.json`, () => ({ title: 'a' })],
  ['PUT', 'PUT', (id) => `/page/${id}.json`, () => ({ title: 'a' })],
  ['DELETE', 'DELETE', (id) => `/page/${id}.json`],
  ['POST, to-one', 'POST', () => '/page.json', (id) => ({ title: 'a', parent: { id } })],
  ['POST, to-many', 'POST', () => '/page.json', (id) => ({ title: 'a', siblings: [{ id }] })],
  ['PATCH, to-one', 'PATCH', () => '/page/1.json', (id) => ({ parent: { id } })],
  ['PATCH, to-many', 'PATCH', () => '/page/1.json', (id) => ({ siblings: [{ id }] })],
  ['PUT, to-one', 'PUT', () => '/page/1.json', (id) => ({ title: 'a', parent: { id } })],
  ['add', 'POST', () => '/folder/1/pages.json', (id) => ({ id })],
  ['remove', 'DELETE', () => '/folder/1/pages.json', (id) => ({ id })],
];

/** The result for one kind of request. */
export interface Timing {
  readonly database: 'sqlite' | 'postgresql';
  readonly store: 'compiled' | 'entities';
  readonly request: string;
  /** At least 0.5, no matter which of the two takes longer. */
  readonly auc: number;
  /** Statements of one request. */
  readonly statements: Readonly<Record<Kind, number>>;
}

/** Measures every kind of request, in both stores and on both databases. `samples`: requests for hidden and for missing rows. */
export async function measureTimings({
  samples = 500,
  only = '',
  report = () => undefined,
}: {
  readonly samples?: number;
  /** Measures only kinds of requests whose names contain this text. */
  readonly only?: string;
  /** Called with each result as soon as it is measured. */
  readonly report?: (timing: Timing) => void;
} = {}): Promise<Timing[]> {
  const directory = mkdtempSync(join(tmpdir(), 'declarest-timing-'));
  // PostgreSQL may run as another user
  chmodSync(directory, 0o755);
  const postgres = await startPostgres(directory);
  const timings: Timing[] = [];
  try {
    for (const store of ['compiled', 'entities'] as const) {
      for (const database of ['sqlite', 'postgresql'] as const) {
        const databaseUrl =
          database === 'sqlite' ? `sqlite:${join(directory, `${store}.db`)}` : await newDatabase(postgres.url, store);
        const app = await runApplication({ ...vault, databaseUrl, compiledReads: store === 'compiled' } as never);
        try {
          const chosen = probes.filter(([name]) => name.includes(only));
          for (const probe of chosen) {
            const timing = { database, store, request: probe[0], ...(await measure(app, probe, samples)) };
            timings.push(timing);
            report(timing);
          }
        } finally {
          await app.close();
        }
      }
    }
  } finally {
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true });
  }
  return timings;
}

async function newDatabase(server: string, name: string): Promise<string> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return server.replace(/[^/]*$/, name);
}

async function measure(app: RunningApplication, probe: Probe, samples: number): Promise<Pick<Timing, 'auc' | 'statements'>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const token = await app.tokenFor(ann);
  const times: Record<Kind, number[]> = { hidden: [], missing: [] };
  const statements: Record<Kind, number> = { hidden: 0, missing: 0 };
  try {
    const once = async (kind: Kind, i: number) => {
      app.statements.length = 0;
      const took = await timeOf(app, agent, token, probe, ids[kind][i % 3] as number);
      statements[kind] = app.statements.length;
      return took;
    };
    // warms up compilers and caches equally for both
    for (let i = 0; i < 100; i++) for (const kind of ['hidden', 'missing'] as const) await once(kind, i);
    for (const [i, kind] of shuffled(samples).entries()) times[kind].push(await once(kind, i));
  } finally {
    agent.destroy();
  }
  return { auc: aucOf(times.hidden, times.missing), statements };
}

/** Both kinds equally often, in random order. */
function shuffled(samples: number): Kind[] {
  const kinds = Array.from({ length: samples * 2 }, (_, i): Kind => (i % 2 === 0 ? 'hidden' : 'missing'));
  for (let i = kinds.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [kinds[i], kinds[j]] = [kinds[j] as Kind, kinds[i] as Kind];
  }
  return kinds;
}

function timeOf(
  { url }: RunningApplication,
  agent: Agent,
  token: string,
  [, method, path, body]: Probe,
  id: number,
): Promise<number> {
  const sent = body && JSON.stringify(body(id));
  const headers = {
    authorization: `Bearer ${token}`,
    ...(sent && { 'content-type': 'application/json', 'content-length': String(sent.length) }),
  };
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const request = httpRequest(url + path(id), { agent, method, headers }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 400 || response.statusCode === 404) resolve(performance.now() - start);
        else reject(new Error(`${method} ${path(id)} returned ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end(sent);
  });
}

/**
 * The area under the ROC curve, by ranks: the probability that a time of the first list is longer than one of the second, or the
 * reverse.
 */
export function aucOf(first: readonly number[], second: readonly number[]): number {
  const all = [...first.map((time) => ({ time, isFirst: true })), ...second.map((time) => ({ time, isFirst: false }))];
  all.sort((a, b) => a.time - b.time);
  let sum = 0;
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end]?.time === all[start]?.time) end++;
    // equal times share their ranks
    for (let i = start; i < end; i++) if (all[i]?.isFirst) sum += (start + 1 + end) / 2;
    start = end;
  }
  const auc = (sum - (first.length * (first.length + 1)) / 2) / (first.length * second.length);
  return Math.max(auc, 1 - auc);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { samples: { type: 'string', default: '500' }, only: { type: 'string', default: '' } },
  });
  const report = ({ auc, database, request, statements, store }: Timing) => {
    const verdict = auc < highestAuc ? '' : '  too high';
    const figures = `AUC ${auc.toFixed(3)}  statements ${statements.hidden}/${statements.missing}`;
    console.log(`${database.padEnd(10)}  ${store.padEnd(8)}  ${request.padEnd(14)}  ${figures}${verdict}`);
  };
  const timings = await measureTimings({ samples: Number(values.samples), only: values.only, report });
  if (timings.some(({ auc }) => auc >= highestAuc)) process.exitCode = 1;
}
