import { Agent, request as httpRequest } from 'node:http';
import { parseCsv } from '../support/csv.ts';
import { type DatabaseKind, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { parseXml } from '../support/xml.ts';
import { type Caller, difference, grantedGroups, isIn, keysIn, modelOf, type Shapes, settableOf, shownTo } from './oracle.ts';
import { applicationOf } from './random-application.ts';
import { type Data, mutated, type Row, randomData, statementsFor, tokenOf, Values } from './random-data.ts';
import { type Asked, randomRequest } from './random-requests.ts';
import { type ApiSpec, type ApplicationSpec, chance, type EmbeddedSpec, randomApplication } from './random-spec.ts';

export const callers: readonly (Caller | null)[] = [
  // first, so that others know its entity tags
  { id: 'eve', roles: ['ALL', 'ROLE_A', 'B'] },
  null,
  { id: 'ann', roles: [] },
  { id: 'bob', roles: ['ROLE_A'] },
  { id: 'cid', roles: ['B'] },
  { id: 'dan', roles: ['ROLE_A', 'B'] },
];

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

interface Answered {
  readonly reply: Reply;
  readonly about: string;
}

type Rows = Record<string, unknown>[];

/** Sends random requests to a random application, and compares the responses with the oracle. */
export class Walk {
  readonly spec: ApplicationSpec;
  readonly data: Data;
  sent = 0;
  /** The differences between responses and the oracle. */
  readonly problems: string[] = [];
  readonly #app: TestApplication & { application: { mapper: { em: any } } };
  readonly #database: FreshDatabase;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2 });
  readonly #isSqlite: boolean;
  readonly #seed: number;
  readonly #values: Values;
  readonly #owners = new Map<string, { key: string }>();
  readonly #tags: string[] = [];

  static async start(kind: DatabaseKind, seed: number): Promise<Walk> {
    const spec = randomApplication(seed);
    const database = await freshDatabase(kind);
    try {
      const app = await startApplication({ ...applicationOf(spec), databaseUrl: database.url } as never);
      const walk = new Walk(kind, seed, spec, app as never, database);
      // sequences exist from the first row on
      await walk.fill(walk.data);
      return walk;
    } catch (error) {
      await database.drop();
      throw error;
    }
  }

  private constructor(kind: DatabaseKind, seed: number, spec: ApplicationSpec, app: never, database: FreshDatabase) {
    this.#isSqlite = kind === 'sqlite';
    this.#seed = seed;
    this.spec = spec;
    this.#app = app;
    this.#database = database;
    this.#values = new Values();
    this.data = randomData(spec, this.#values, seed);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#app.close();
    await this.#database.drop();
  }

  /** Gives the database this content. */
  async fill(data: Data): Promise<void> {
    for (const { values } of data)
      for (const [key, value] of values) {
        const token = tokenOf(value);
        if (token !== null) this.#owners.set(token, { key });
      }
    await this.#app.application.mapper.em.fork().transactional(async (em: any) => {
      for (const sql of statementsFor(this.spec, data, this.#isSqlite)) await em.execute(sql);
    });
  }

  /** Sends at least this number of requests, as every caller to every API, so many of them after each other to one. */
  async through(total: number, each = 20): Promise<void> {
    for (let round = 0; this.sent < total; round++)
      for (const [i, caller] of callers.entries())
        for (const [j, api] of this.spec.apis.entries())
          if (round === 0 || this.sent < total)
            await this.#sequence(api, caller, each, this.#seed + i * 101 + j * 100_003 + round * 1_000_003);
  }

  /** The same requests twice, the second time with other values in all columns that the caller cannot see through the API. */
  async #sequence(api: ApiSpec, caller: Caller | null, count: number, seed: number): Promise<void> {
    const random = chance(seed);
    const tags = this.#tags.slice(-30);
    const asked = Array.from({ length: count }, () =>
      randomRequest({ app: this.spec, api, caller, data: this.data, random, tags }),
    );
    const removal = {
      ...(asked[0] as Asked),
      method: 'DELETE',
      path: `/${api.name}/${1 + random.below(6)}.json`,
      status: null,
      twin: null,
    };
    const requests = random.is(0.3) ? [...asked, removal] : asked;
    await this.fill(this.data);
    const before = await this.rows();
    const first: Answered[] = [];
    for (const each of requests) first.push(...(await this.#ask(each, caller, api, true)));
    this.#compareRows(before, await this.rows(), api, caller);
    await this.fill(mutated(this.spec, this.data, this.#values, seed, this.#unseen(api, caller)));
    const second: Answered[] = [];
    for (const each of requests) second.push(...(await this.#ask(each, caller, api, false)));
    for (const [i, { about, reply }] of first.entries()) {
      const other = second[i]?.reply;
      if (JSON.stringify(other) !== JSON.stringify(reply))
        this.#report(
          'depends on values that the caller cannot see',
          about,
          `${JSON.stringify(reply)}
  ${JSON.stringify(other)}`,
        );
    }
  }

  #report(problem: string, about: string, more = ''): void {
    this.problems.push(`${problem}: ${about} ${more}`);
  }

  /** Whether a column of a row has no influence on any response of the API to the caller. */
  #unseen(api: ApiSpec, caller: Caller | null): (row: Row, key: string) => boolean {
    const { root } = modelOf(this.spec, api.model);
    const list = this.#keys(shownTo(this.spec, api, 'index', caller, null));
    const seen = new Map<string | null, Set<string>>();
    const single = (owner: string | null) => {
      let keys = seen.get(owner);
      if (!keys) {
        keys = this.#keys(shownTo(this.spec, api, 'entity', caller, owner));
        seen.set(owner, keys);
      }
      return keys;
    };
    return (row, key) => {
      const model = modelOf(this.spec, row.model);
      const isOwn = model.root === root;
      // nobody sees any value of a hidden row
      if (model.restricted && !row.shown) return true;
      // whether a write changes a value is visible in the version
      if (isOwn && model.versioned && this.#isWritableKey(key, api, caller, row.owner)) return false;
      return !list.has(key) && !single(isOwn ? row.owner : (caller?.id ?? null)).has(key);
    };
  }

  #isWritableKey(key: string, api: ApiSpec, caller: Caller | null, owner: string): boolean {
    const [root = '', ...names] = key.split('.');
    return this.#isWritable(root, names.join('.'), grantedGroups(api, 'entity', 'write', caller, owner));
  }

  /** The keys of the columns that responses show, through getters too. */
  #keys(shapes: Shapes): Set<string> {
    const keys = keysIn(shapes);
    for (const { getters, root } of this.spec.models)
      for (const { name, of } of getters) if (keys.has(`${root}.${name}`)) keys.add(`${root}.${of}`);
    return keys;
  }

  async #ask(asked: Asked, caller: Caller | null, api: ApiSpec, isFirst: boolean): Promise<Answered[]> {
    const reply = await this.send(asked, caller);
    const about = `${asked.method} ${asked.path} ${asked.body ?? ''} by ${JSON.stringify(caller)}: ${reply.status} ${reply.text} (application ${this.#seed}, ${JSON.stringify(this.spec.apis.find(({ name }) => name === api.name)?.groups)})`;
    this.#check(asked, reply, about);
    const tag = reply.headers.etag;
    if (isFirst && typeof tag === 'string') this.#tags.push(tag);
    if (isFirst && asked.twin) {
      const { body, name, other, path } = asked.twin;
      const twin = await this.send({ ...asked, path, ...(body !== undefined && { body }) }, caller);
      const renamed = JSON.parse(JSON.stringify(reply).replaceAll(name, other));
      if (JSON.stringify(twin) !== JSON.stringify(renamed))
        this.#report(
          'differs from a name that does not exist',
          about,
          `${JSON.stringify(renamed)}
  ${JSON.stringify(twin)}`,
        );
    }
    const next = /"next":"([^"]+)"/.exec(reply.text)?.[1];
    if (asked.method !== 'GET' || reply.status !== 200 || next === undefined) return [{ reply, about }];
    const following: Asked = { ...asked, path: next, headers: {}, status: 200 };
    const page = await this.send(following, caller);
    this.#check(following, page, `${next} after ${about}`);
    return [
      { reply, about },
      { reply: page, about: `${next} after ${about}` },
    ];
  }

  #check(asked: Asked, { headers, status, text }: Reply, about: string): void {
    const isUnchanged = asked.headers?.['if-none-match'] !== undefined && status === 304;
    if (status >= 500 || (asked.status !== null && !isUnchanged && status !== asked.status))
      this.#report(`the status is not ${asked.status}`, about);
    const sent = decodeURIComponent(asked.path) + (asked.body ?? '');
    const cursors = [...text.matchAll(/(?:after|before)=([\w-]+)/g)].map(([, token]) =>
      Buffer.from(String(token), 'base64url').toString(),
    );
    const told = [text, JSON.stringify(headers), ...cursors].join('\n');
    for (const [name] of told.matchAll(/\bk[b-z]{3}j\b/g)) {
      const isEcho = status >= 400 && sent.includes(name);
      if (!asked.names.has(name) && !isEcho) this.#report(`contains the name ${name}`, about);
    }
    const keys = this.#keys(asked.readable);
    for (const [token] of told.matchAll(/v\d{6}q|\b12000\d{5}\b/g)) {
      const key = this.#owners.get(token)?.key;
      if (key !== undefined && !keys.has(key) && !sent.includes(token)) this.#report(`contains ${token} of ${key}`, about);
    }
    if ((status !== 200 && status !== 201) || asked.method === 'HEAD' || asked.method === 'DELETE') return;
    const found = this.#difference(asked, text);
    if (found !== null) this.#report(found, about);
  }

  /** What the rows of a response have beyond the oracle, or lack. */
  #difference({ action, all, method, path, results, shapes }: Asked, text: string): string | null {
    if (results) return aggregateDifference(results, path, text);
    const isList = action === 'index' && method === 'GET';
    const format = /\.(json|xml|csv|ndjson)(?:\?|$)/.exec(path)?.[1];
    if (format === 'csv') return csvDifference(text, all);
    if (format === 'xml') {
      const { children } = parseXml(text);
      const rows = isList ? (children.find(({ name }) => name === 'results')?.children ?? []) : [parseXml(text)];
      return firstOf(
        rows.map((row) =>
          namesDifference(
            row.children.map(({ name }) => name),
            shapes,
          ),
        ),
      );
    }
    const rows =
      format === 'ndjson'
        ? text
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line))
        : isList
          ? JSON.parse(text).results
          : [JSON.parse(text)];
    return firstOf(rows.map((row: unknown) => difference(row, shapes)));
  }

  /** The rows of all tables. */
  async rows(): Promise<Map<string, Rows>> {
    const roots = this.spec.models.filter(({ name, root }) => name === root);
    const em = this.#app.application.mapper.em.fork();
    const all = new Map<string, Rows>();
    for (const { name } of roots) all.set(name, await em.execute(`select * from ${name.toLowerCase()} order by id`));
    return all;
  }

  /** Only columns that the caller can write have changed, and only in rows of the API. */
  #compareRows(before: Map<string, Rows>, after: Map<string, Rows>, api: ApiSpec, caller: Caller | null): void {
    const { root } = modelOf(this.spec, api.model);
    for (const [name, rows] of before)
      for (const row of rows) {
        const now = after.get(name)?.find(({ id }) => id === row.id);
        if (!now) continue;
        const groups = grantedGroups(api, 'entity', 'write', caller, String(row.owner));
        const changed = changedColumns(row, now).filter((column) => !this.#mayChange(name === root, root, column, groups));
        if (changed.length > 0)
          this.#report(
            `changed ${changed.join()} of ${name} ${row.id}`,
            `${caller?.id} through ${api.name} (application ${this.#seed})`,
          );
      }
  }

  /** Rows of other models lose only their references to a deleted row. */
  #mayChange(isOwn: boolean, root: string, column: string, groups: readonly string[]): boolean {
    return isOwn ? this.#isWritable(root, column, groups) : column === 'version' || column.endsWith('_id');
  }

  #isWritable(root: string, column: string, groups: readonly string[]): boolean {
    if (column === 'version') return true;
    const [first, second] = column.split(/[_.]/);
    const classes = this.spec.models.filter((model) => model.root === root);
    const property = classes.flatMap(({ name }) => settableOf(this.spec, name)).find((each) => each.name === first);
    if (!property || !isIn(property, groups)) return false;
    if (!('parts' in property)) return true;
    const part = (property as EmbeddedSpec).parts.find((each) => each.name === second);
    return part !== undefined && isIn(part, groups);
  }

  async send(asked: Pick<Asked, 'body' | 'headers' | 'method' | 'path'>, caller: Caller | null): Promise<Reply> {
    this.sent++;
    const { hostname, port } = new URL(this.#app.url);
    const headers = {
      ...(caller && { 'x-caller': `${caller.id} ${caller.roles.join()}` }),
      ...asked.headers,
      ...(asked.body !== undefined && { 'content-length': String(Buffer.byteLength(asked.body)) }),
    };
    return new Promise((resolve, reject) => {
      const sending = httpRequest(
        { agent: this.#agent, hostname, port, method: asked.method, path: asked.path, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const { date: _, 'x-request-id': __, connection: ___, 'keep-alive': ____, ...rest } = response.headers;
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: rest });
          });
        },
      );
      sending.on('error', reject);
      sending.end(asked.body);
    });
  }
}

function firstOf(found: readonly (string | null)[]): string | null {
  return found.find((each) => each !== null) ?? null;
}

function namesDifference(names: readonly string[], shapes: Shapes): string | null {
  const given = [...names].sort().join();
  const expected = [...shapes.values()].map((fields) =>
    fields
      .map(({ name }) => name)
      .sort()
      .join(),
  );
  return expected.includes(given) ? null : `the fields are ${given}, but not ${expected.join(' or ')}`;
}

/** Columns are paths of fields. Each field has a column, or columns for its parts. */
function csvDifference(text: string, shapes: Shapes): string | null {
  if (text === '' || text.startsWith('\r\n')) return null;
  const { header } = parseCsv(text);
  const names = new Set([...shapes.values()].flat().map(({ name }) => name));
  const isEmpty = (name: string) =>
    [...shapes.values()]
      .flat()
      .some((field) => field.name === name && field.inner !== null && !field.many && [...keysIn(field.inner)].length === 0);
  for (const column of header) if (!names.has(column.split('.')[0] as string)) return `the column ${column} must not be there`;
  for (const name of names)
    if (!header.some((column) => column === name || column.startsWith(`${name}.`)) && !isEmpty(name))
      return `the column ${name} is missing`;
  return null;
}

/** Each result of aggregates has the values that were asked for, and no others. */
function aggregateDifference(names: readonly string[], path: string, text: string): string | null {
  if (!/\.json(?:\?|$)/.test(path)) return null;
  const expected = [...names].sort().join();
  const results: object[] = JSON.parse(text).results;
  const other = results.map((result) => Object.keys(result).sort().join()).find((keys) => keys !== expected);
  return other === undefined ? null : `the results have ${other}, but not ${expected}`;
}

function changedColumns(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  return Object.keys(before).flatMap((column) => {
    const [one, other] = [parsed(before[column]), parsed(after[column])];
    if (JSON.stringify(one) === JSON.stringify(other)) return [];
    // an embedded object in JSON: its parts
    const parts = [...new Set([...Object.keys(Object(one)), ...Object.keys(Object(other))])].filter((name) =>
      /^k[b-z]{3}j$/.test(name),
    );
    const isObject = parts.length > 0 || (isEmpty(one) && isEmpty(other));
    const partOf = (value: unknown, name: string) => JSON.stringify(Object(value)[name] ?? null);
    return isObject
      ? parts.filter((name) => partOf(one, name) !== partOf(other, name)).map((name) => `${column}.${name}`)
      : [column];
  });
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('{')) return value;
  return JSON.parse(value);
}
