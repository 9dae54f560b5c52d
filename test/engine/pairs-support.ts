import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { type DatabaseKind, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { permutations } from '../support/random.ts';
import { type Kind, kinds, type PairForm } from './pairs-app.ts';

/** The content of a row and its links. */
export interface State {
  title: string;
  owner: string;
  tenant: string;
  locked: boolean;
  low: number;
  high: number;
  amount: number;
  markCount: number;
  /** Milliseconds that `validate()` takes; not read back. */
  pause?: number;
  data: unknown;
  size: { width: number; height: number; unit: string };
  refs: number[];
  labels: number[];
  marks: number[];
  version?: number;
}

/** A request to the row in question. */
export interface RowRequest {
  readonly method: string;
  /** The action after the id; none for `_entity`. */
  readonly action?: 'bump' | 'labels' | 'marks' | 'stick';
  readonly json?: unknown;
  readonly user: string;
  readonly tenant: string;
  /** Sends the tag of the first state as `If-Match`. */
  readonly ifMatch?: boolean;
  /** Milliseconds that the voter takes. */
  readonly pause?: number;
  readonly form?: PairForm;
}

export interface RowResponse {
  readonly status: number;
  readonly json: any;
  readonly etag: string | undefined;
}

/** What a group of requests came to. */
export interface Outcome {
  readonly statuses: number[];
  /** The final row; null if it was removed. */
  readonly row: State | null;
  /** The bodies of successful responses, without what differs from row to row. */
  readonly bodies: unknown[];
}

export const firstState: State = {
  title: 'first',
  owner: 'anna',
  tenant: 'north',
  locked: false,
  low: 1,
  high: 10,
  amount: 0,
  markCount: 0,
  data: { z: 0 },
  size: { width: 1, height: 1, unit: 'cm' },
  refs: [],
  labels: [],
  marks: [],
};

const columns = [
  'title',
  'owner',
  'tenant',
  'locked',
  'low',
  'high',
  'amount',
  'mark_count',
  'pause',
  'data',
  'size_width',
  'size_height',
  'size_unit',
];
const lists = ['refs', 'labels', 'marks'] as const;

/** Reads and writes rows without any server. */
interface Store {
  /** Runs statements in one transaction. */
  write(statements: readonly [sql: string, parameters: unknown[]][]): Promise<void>;
  read(sql: string, parameters: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

function sqliteStore(url: string): Store {
  const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 10_000 });
  // rows of tests need not outlive a power failure
  db.exec('pragma synchronous = off');
  return {
    async write(statements) {
      db.exec('begin immediate');
      for (const [sql, parameters] of statements) db.prepare(sql).run(...(parameters.map(sqliteValue) as never[]));
      db.exec('commit');
    },
    read: async (sql, parameters) => db.prepare(sql).all(...(parameters as never[])),
    close: async () => db.close(),
  };
}

const sqliteValue = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value);

async function postgresStore(url: string): Promise<Store> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const numbered = (sql: string) => {
    let count = 0;
    return sql.replaceAll('?', () => `$${++count}`);
  };
  return {
    async write(statements) {
      // statements of several callers must not get into one transaction, so it is one statement
      const parameters: unknown[] = [];
      const parts = statements.map(([sql, own], index) => {
        parameters.push(...own);
        return index === statements.length - 1 ? sql : `part_${index} as (${sql})`;
      });
      const last = parts.pop();
      await client.query(numbered(parts.length > 0 ? `with ${parts.join(', ')} ${last}` : (last as string)), parameters);
    },
    read: async (sql, parameters) => (await client.query(numbered(sql), parameters)).rows,
    close: () => client.end(),
  };
}

/** Server processes on one database, and a way around them. */
export class Deployment {
  readonly #fresh: FreshDatabase;
  readonly #store: Store;
  readonly #servers: readonly { child: ChildProcess; url: string }[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  #nextId = 1000;

  private constructor(fresh: FreshDatabase, store: Store, servers: readonly { child: ChildProcess; url: string }[]) {
    this.#fresh = fresh;
    this.#store = store;
    this.#servers = servers;
  }

  static async start(database: DatabaseKind, processes: number): Promise<Deployment> {
    const fresh = await freshDatabase(database);
    const servers: { child: ChildProcess; url: string }[] = [];
    // one after the other: the first makes the tables
    for (let i = 0; i < processes; i++) servers.push(await startServer(fresh.url));
    const store = database === 'sqlite' ? sqliteStore(fresh.url) : await postgresStore(fresh.url);
    const deployment = new Deployment(fresh, store, servers);
    await deployment.#warmUp();
    return deployment;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await Promise.all(
      this.#servers.map(async ({ child }) => {
        const ended = once(child, 'exit');
        const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
        child.stdin?.end();
        await ended;
        clearTimeout(timer);
      }),
    );
    await this.#store.close();
    await this.#fresh.drop();
  }

  /** Opens connections, so that the first requests of a test are not apart by the time that takes. */
  async #warmUp(): Promise<void> {
    const id = await this.insert('plain', firstState);
    const get: RowRequest = { method: 'GET', user: 'anna', tenant: 'north' };
    await Promise.all(Array.from({ length: 16 }, (_, i) => this.send('plain', id, get, i)));
  }

  /** Makes a row and returns its id. */
  async insert(kind: Kind, state: State): Promise<number> {
    const id = this.#nextId++;
    const { version } = kinds[kind];
    const names = ['id', ...columns, 'folder_id', ...(version ? ['version'] : [])];
    const { size } = state;
    const values = [
      id,
      state.title,
      state.owner,
      state.tenant,
      state.locked,
      state.low,
      state.high,
      state.amount,
      state.markCount,
      state.pause ?? 0,
      state.data === null ? null : JSON.stringify(state.data),
      size.width,
      size.height,
      size.unit,
      1,
      ...(version ? [1] : []),
    ];
    await this.#store.write([
      [`insert into ${kind} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`, values],
      // the last statement gives all of them a result on PostgreSQL
      ...lists.flatMap((list) =>
        state[list].map((tag): [string, unknown[]] => [
          `insert into ${kind}_${list} (${kind}_id, tag_id) values (?, ?)`,
          [id, tag],
        ]),
      ),
    ]);
    return id;
  }

  /** The row as the database holds it; null if there is none. */
  async read(kind: Kind, id: number): Promise<State | null> {
    const { version } = kinds[kind];
    const [row] = await this.#store.read(
      `select ${[...columns, ...(version ? ['version'] : [])].join(', ')} from ${kind} where id = ?`,
      [id],
    );
    const linked = await Promise.all(
      lists.map(async (list) => {
        const rows = await this.#store.read(`select tag_id from ${kind}_${list} where ${kind}_id = ? order by tag_id`, [id]);
        return [list, rows.map(({ tag_id }) => Number(tag_id))] as const;
      }),
    );
    if (!row) {
      if (linked.some(([, ids]) => ids.length > 0)) throw new Error(`row ${id} of ${kind} is gone, but its links are not`);
      return null;
    }
    const data = typeof row.data === 'string' ? JSON.parse(row.data) : row.data;
    return {
      title: row.title as string,
      owner: row.owner as string,
      tenant: row.tenant as string,
      locked: Boolean(row.locked),
      low: row.low as number,
      high: row.high as number,
      amount: row.amount as number,
      markCount: row.mark_count as number,
      data: sorted(data),
      size: { width: row.size_width as number, height: row.size_height as number, unit: row.size_unit as string },
      ...(Object.fromEntries(linked) as Record<(typeof lists)[number], number[]>),
      ...(version && { version: row.version as number }),
    };
  }

  /** Sends a request to the server whose turn it is. */
  send(kind: Kind, id: number, request: RowRequest, turn: number, etag?: string): Promise<RowResponse> {
    const { url } = this.#servers[turn % this.#servers.length] as { url: string };
    const { action, form, ifMatch, json, method, pause, tenant, user } = request;
    const body = json === undefined ? undefined : JSON.stringify(json);
    const headers = {
      'x-user': user,
      'x-tenant': tenant,
      ...(pause && { 'x-pause': String(pause) }),
      ...(form && { 'x-form': form }),
      ...(ifMatch && etag && { 'if-match': etag }),
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    };
    const path = `/${kind}/${id}${action ? `/${action}` : ''}.json`;
    return new Promise((resolve, reject) => {
      const sent = httpRequest(url + path, { method, headers, agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { etag } = response.headers;
          resolve({ status: response.statusCode as number, json: text === '' ? null : JSON.parse(text), etag });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** The tag of a row, for `If-Match`. */
  async etagOf(kind: Kind, id: number, tenant: string): Promise<string | undefined> {
    return (await this.send(kind, id, { method: 'GET', user: 'admin', tenant }, 0)).etag;
  }

  /** Sends requests to a new row, all at once or one after the other in an order of their places. */
  async run(kind: Kind, start: State, requests: readonly RowRequest[], order?: readonly number[]): Promise<Outcome> {
    const id = await this.insert(kind, start);
    const etag = requests.some(({ ifMatch }) => ifMatch) ? await this.etagOf(kind, id, start.tenant) : undefined;
    const responses: RowResponse[] = [];
    if (order) {
      for (const place of order) responses[place] = await this.send(kind, id, requests[place] as RowRequest, place, etag);
    } else {
      responses.push(...(await Promise.all(requests.map((request, place) => this.send(kind, id, request, place, etag)))));
    }
    return {
      statuses: requests.map((_, place) => responses[place]?.status ?? 0),
      row: await this.read(kind, id),
      bodies: requests.map((_, place) => bodyOf(responses[place])),
    };
  }
}

async function startServer(databaseUrl: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'pairs-server.ts'), databaseUrl], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
  });
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      printed = (printed + chunk).slice(-5000);
      const found = /^listening on (\S+)$/m.exec(printed)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', () => reject(new Error(`the server did not start:\n${printed}`)));
  });
  return { child, url };
}

/** Keys in alphabetical order: databases keep them in orders of their own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

function bodyOf(response: RowResponse | undefined): unknown {
  if (!response || response.status >= 300 || response.json === null) return null;
  const { id, data, ...rest } = response.json as Record<string, unknown>;
  // the response of an association action is a tag
  return 'title' in rest ? { ...rest, data: sorted(data) } : { id, ...rest };
}

/** A request that was rejected because of others, and so must have had no effect. */
function isConflict(status: number, { ifMatch }: RowRequest): boolean {
  return status === 409 || (status === 412 && ifMatch === true);
}

/** Runs requests one after the other, in every order that is asked for; results for the same start and requests are kept. */
export class SerialOrders {
  readonly #outcomes = new Map<string, Promise<Outcome>>();
  readonly #deployment: Deployment;
  readonly #kind: Kind;
  readonly #start: State;
  readonly #requests: readonly RowRequest[];

  constructor(deployment: Deployment, kind: Kind, start: State, requests: readonly RowRequest[]) {
    this.#deployment = deployment;
    this.#kind = kind;
    this.#start = start;
    // nobody is in anybody's way, so nobody has to be slow
    this.#requests = requests.map(({ pause: _, ...request }) => request);
  }

  outcome(order: readonly number[]): Promise<Outcome> {
    const key = order.join();
    const known = this.#outcomes.get(key);
    if (known) return known;
    const running = this.#deployment.run(this.#kind, this.#start, this.#requests, order);
    this.#outcomes.set(key, running);
    return running;
  }

  /** Says how an outcome of concurrent requests differs from that of every serial order; null if it matches one. */
  async faultOf(outcome: Outcome): Promise<{ readonly of: 'bodies' | 'effect'; readonly text: string } | null> {
    const places = this.#requests.map((_, place) => place);
    const kept = places.filter((place) => !isConflict(outcome.statuses[place] as number, this.#requests[place] as RowRequest));
    if (kept.length === 0 && !this.#requests.some(({ ifMatch }) => ifMatch)) {
      return { of: 'effect', text: `every request was rejected: ${outcome.statuses.join()}` };
    }
    const project = ({ statuses, row }: Outcome) => JSON.stringify([kept.map((place) => statuses[place]), row]);
    const bodies = ({ bodies }: Outcome) => JSON.stringify(kept.map((place) => withoutLists(bodies[place])));
    const serial: string[] = [];
    let shown: Outcome | null = null;
    for (const order of permutations(kept)) {
      const expected = await this.outcome(order);
      if (project(expected) === project(outcome)) {
        if (bodies(expected) === bodies(outcome)) return null;
        shown ??= expected;
      }
      serial.push(`${order.join()}: ${project(expected)}`);
    }
    if (shown)
      return {
        of: 'bodies',
        text: `responses: got ${outcome.statuses.join()} ${bodies(outcome)}, in serial order ${bodies(shown)}`,
      };
    return {
      of: 'effect',
      text: `effect: got ${outcome.statuses.join()} ${project(outcome)}, in serial order ${serial.join(' or ')}`,
    };
  }
}

/** Runs work for each number below the count, several at a time. */
export async function inBatches(count: number, width: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** To-many associations are read by statements of their own, which may come after another request has removed or changed the row. */
function withoutLists(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => !Array.isArray(value)));
}
