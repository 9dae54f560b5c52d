// @module-tag divided
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { prepareClose } from '../../src/cli/close-server.ts';
import { ApiController, type ApiRequest, type CollectionModel, type ModelQuery } from '../../src/index.ts';
import { parseCsv, withoutMark } from '../support/csv.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Team = defineEntity({
  name: 'Team',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), secret: p.string() },
});
const Row = defineEntity({
  name: 'Row',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    place: p.integer().groups('read'),
    note: p.text().groups('read'),
    secret: p.string(),
    team: () => p.manyToOne(Team).nullable().groups('read'),
  },
});
/** More of it than the buffers of a connection hold. */
const Wide = defineEntity({
  name: 'Wide',
  properties: { id: p.integer().primary().groups('read'), note: p.text().groups('read') },
});
const wideRows = 2000;
const wideNote = 40_000;
const Nothing = defineEntity({
  name: 'Nothing',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

class HalfController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<object>): void {
    if (request.headers['x-refuse']) throw Object.assign(new Error('not for you'), { statusCode: 403 });
    query.andWhere({ id: { $lte: 1000 } } as never);
  }
}
class JoinedController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ team: { name: 'red' } } as never).orderBy({ place: 'desc' } as never);
  }
}
const chunks: number[] = [];
class HookedController extends HalfController {
  override afterFetch(_action: string, _request: ApiRequest, rows: object | readonly object[]): void {
    if (Array.isArray(rows)) chunks.push(rows.length);
  }
  override beforeSerialize(_action: string, request: ApiRequest, value: unknown): unknown {
    const { count, pagination, results } = value as CollectionModel<{ name: string }>;
    if (request.headers['x-instead']) return this.json({ instead: count }, { status: 202 });
    if (request.headers['x-break'] && pagination.first > 0) throw new Error('broken in the middle');
    for (const row of results as { name: string }[]) row.name = `masked of ${count}`;
    return undefined;
  }
}

const total = 20_000;
const formats = ['json', 'ndjson', 'csv'] as const;
const lists = {
  actions: { _index: null },
  default_sort: ['-place'],
  filters: { place: ['gte', 'lt'] },
  sort: ['name'],
  search: ['name'],
  pagination: { items_per_page: 200 },
} as const;

describe.each(databases)('exports on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  /** Requests have time enough on a busy machine, unless it is said otherwise. */
  const options = (handlerTimeout = 60_000) => ({
    app_main: {
      formats,
      exports: { at_once: 2, stall_timeout: 1500 },
      server: { handler_timeout: handlerTimeout },
      database: { connect_timeout: 700 },
      apis: {
        row: { class: Row, base_path: '/row', ...lists },
        half: { class: Row, base_path: '/half', controller: HalfController, ...lists },
        joined: { class: Row, base_path: '/joined', controller: JoinedController, ...lists, default_sort: [] },
        hooked: { class: Row, base_path: '/hooked', controller: HookedController, ...lists },
        wide: { class: Wide, base_path: '/wide', actions: { _index: null } },
        nothing: { class: Nothing, base_path: '/nothing', actions: { _index: null } },
        guarded: { class: Row, base_path: '/guarded', base_role: 'ROLE_USER', actions: { _index: null } },
      },
    },
    models: [Row, Team, Wide, Nothing],
    controllers: [HalfController, HookedController, JoinedController],
    databaseUrl: database.url,
  });

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication(options());
    const em = app.application.mapper.em.fork();
    await em.execute("insert into team (id, name, secret) values (1, 'red', 'marked'), (2, '=blue', 'marked')");
    const numbers =
      kind === 'sqlite'
        ? `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${total}) select i from n`
        : `select i from generate_series(1, ${total}) as n(i)`;
    await em.execute(
      `insert into "row" (id, name, place, note, secret, team_id) select i, 'row ' || (i % 7), (i * 7919) % 100003, '${'x'.repeat(1000)}', 'marked', case i % 3 when 0 then null else i % 3 end from (${numbers}) as numbers`,
    );
    const note = kind === 'sqlite' ? `replace(hex(zeroblob(${wideNote / 2})), '0', 'x')` : `repeat('x', ${wideNote})`;
    await em.execute(`insert into wide (id, note) select i, ${note} from (${numbers}) as numbers where i <= ${wideRows}`);
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  async function pages(path: string): Promise<unknown[]> {
    const results: unknown[] = [];
    for (let next: string | null = path; next; ) {
      const { json } = await app.request('GET', next);
      results.push(...json.results);
      next = json.pagination.next;
    }
    return results;
  }

  async function open(path: string, url = app.url, headers = {}): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(url + path, { agent: false, headers }, resolve).on('error', reject),
    );
    expect(response.statusCode).toBe(200);
    return response;
  }

  /** Connections that export, as the database itself tells, or threads that hold a snapshot open. */
  async function exporting(): Promise<number> {
    if (kind === 'sqlite') {
      return (await checkpointed()) ? 0 : 1;
    }
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'",
    );
    await client.end();
    return rows[0].n;
  }

  /** Whether nobody reads from before the last commit: only then can the write-ahead log be emptied. */
  async function checkpointed(): Promise<boolean> {
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(database.url.slice('sqlite:'.length), { timeout: 200 });
    try {
      db.exec(`insert into "nothing" (id, name) values (99, 'x'); delete from "nothing"`);
      return Number(db.prepare('pragma wal_checkpoint(truncate)').get()?.busy) === 0;
    } finally {
      db.close();
    }
  }

  test.each([
    ['/row', '?place[lt]=20000&items_per_page=200'],
    ['/half', '?items_per_page=200'],
    ['/joined', '?place[lt]=20000&items_per_page=200'],
    ['/hooked', '?items_per_page=200'],
    ['/half', '?sort=-name&place[lt]=5000&q=3&items_per_page=200'],
    ['/hooked', '?sort=-name&place[lt]=5000&q=3&items_per_page=200'],
    ['/row', '?fields=id,team.name&place[lt]=900&items_per_page=200'],
    ['/hooked', '?fields=id,team.name&place[lt]=900&items_per_page=200'],
  ])('%s%s contain all pages of the JSON list', async (path, query) => {
    const expected = await pages(`${path}.json${query}`);
    const asked = query.replace(/&?items_per_page=200/, '').replace(/^\?$/, '');
    const ndjson = await app.request('GET', `${path}.ndjson${asked}`);
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson');
    expect(ndjson.headers.get('content-disposition')).toBe(`attachment; filename="${path.slice(1)}.ndjson"`);
    expect(ndjson.text).toBe(expected.map((item) => `${JSON.stringify(item)}\n`).join(''));
    const csv = await app.request('GET', `${path}.csv${asked}`);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    const { header, rows } = parseCsv(csv.text);
    expect(header).toEqual(
      asked.includes('fields') ? ['id', 'team.name'] : ['id', 'name', 'place', 'note', 'team.id', 'team.name'],
    );
    const cells = expected.map((item) => header.map((column) => cellOf(item, column)));
    expect(rows.map((row) => row.map(withoutMark))).toEqual(cells);
    expect(`${ndjson.text}${csv.text}`).not.toContain('marked');
  });

  test('without rows have a header or are empty', async () => {
    expect((await app.request('GET', '/nothing.csv')).text).toBe('id,name\r\n');
    expect(await app.request('GET', '/nothing.ndjson')).toMatchObject({ status: 200, text: '' });
  });

  test.each(['page=1', 'items_per_page=5', 'after=x&page=2'])('reject ?%s with the reason', async (query) => {
    for (const path of ['/row', '/hooked']) {
      const { json, status } = await app.request('GET', `${path}.csv?${query}`);
      expect(status).toBe(400);
      expect(json.detail).toContain('must not be given here: an export is the whole list, without pages');
    }
    expect((await app.request('GET', '/row.csv?nonsense=1')).json).toMatchObject({ code: 'unknown_parameter' });
  });

  test('require the same access as the list', async () => {
    for (const format of formats) {
      expect((await app.request('GET', `/guarded.${format}`)).status).toBe(401);
      expect((await app.request('GET', `/guarded.${format}`, { as: { id: 1 } })).status).toBe(403);
      expect((await app.request('HEAD', `/guarded.${format}`)).status).toBe(401);
    }
    for (const path of ['/half', '/hooked']) {
      for (const method of ['GET', 'HEAD'])
        expect((await app.request(method, `${path}.csv`, { headers: { 'x-refuse': '1' } })).status).toBe(403);
    }
  });

  test('respond to HEAD with their headers, without a statement', async () => {
    for (const path of ['/row', '/half', '/hooked']) {
      app.statements.length = 0;
      const { headers, status } = await app.request('HEAD', `${path}.csv`);
      expect([status, headers.get('content-disposition')]).toEqual([200, `attachment; filename="${path.slice(1)}.csv"`]);
      expect(app.statements).toEqual([]);
    }
  });

  test('pass chunks to hooks one after the other, and let hooks respond instead', async () => {
    chunks.length = 0;
    const { text } = await app.request('GET', '/hooked.ndjson');
    expect(chunks[0]).toBe(20);
    expect(Math.max(...chunks)).toBeLessThanOrEqual(200);
    expect(chunks.reduce((sum, rows) => sum + rows, 0)).toBe(1000);
    expect(text.split('\n').filter((line) => line.includes('"name":"masked of 1000"'))).toHaveLength(1000);
    const instead = await app.request('GET', '/hooked.csv', { headers: { 'x-instead': '1' } });
    expect([instead.status, instead.json]).toEqual([202, { instead: 1000 }]);
  });

  test('that fail in the middle abort the connection, so they never seem complete', async () => {
    const broken = fetch(`${app.url}/hooked.ndjson`, { headers: { 'x-break': '1' } }).then((response) => response.text());
    await expect(broken).rejects.toThrow();
    expect((await app.request('GET', '/hooked.ndjson')).status).toBe(200);
  });

  test.each(['/row.ndjson', '/hooked.ndjson'])('%s shows the rows as of its start', async (path) => {
    const response = await open(path);
    const first = await firstPiece(response);
    const em = app.application.mapper.em.fork();
    await em.execute('update "row" set name = \'later\', note = note where id <= 1000');
    await em.execute('update team set name = ? where id = 2', ['later']);
    const rest: Buffer[] = [first];
    for await (const piece of response) rest.push(piece as Buffer);
    const text = Buffer.concat(rest).toString();
    await em.execute('update "row" set name = \'row \' || (id % 7) where id <= 1000');
    await em.execute('update team set name = ? where id = 2', ['=blue']);
    expect(text.split('\n')).toHaveLength((path === '/row.ndjson' ? total : 1000) + 1);
    expect(text).not.toContain('later');
  });

  test('neither block other requests nor exceed their memory for a client that does not read', async () => {
    const response = await open('/wide.ndjson');
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 10; i++) {
      expect((await app.request('GET', '/half.json?items_per_page=1')).status).toBe(200);
      await sleep(20);
    }
    const growth = process.memoryUsage().arrayBuffers - before;
    response.destroy();
    expect(growth).toBeLessThan((wideRows * wideNote) / 2);
  });

  test('leave nothing behind if the client disconnects', async () => {
    const response = await open('/wide.ndjson');
    await firstPiece(response);
    if (kind === 'postgresql') expect(await exporting()).toBe(1);
    response.destroy();
    await vi.waitFor(async () => expect(await exporting()).toBe(0), { timeout: 3000, interval: 50 });
  });

  test('are aborted if the client stops reading', async () => {
    const response = await open('/wide.ndjson');
    response.pause();
    response.on('error', () => undefined);
    const closed = new Promise((resolve) => response.once('close', resolve));
    await sleep(2500);
    expect(await exporting()).toBe(0);
    response.resume();
    await closed;
    expect(response.complete).toBe(false);
  });

  test('may exceed the request timeout as long as the client reads', async () => {
    const limit = 1000;
    const impatient = await startApplication(options(limit));
    try {
      const response = await open('/row.ndjson', impatient.url);
      let length = 0;
      response.on('data', (piece: Buffer) => {
        length += piece.length;
        response.pause();
        setTimeout(() => response.resume(), 10);
      });
      const start = performance.now();
      await new Promise((resolve) => response.once('close', resolve));
      expect(response.complete).toBe(true);
      expect(performance.now() - start).toBeGreaterThan(2.5 * limit);
      expect(length).toBeGreaterThan(20_000_000);
    } finally {
      await impatient.close();
    }
  });

  test('that wait are rejected when the server shuts down, and running ones end in time', async () => {
    const { app_main, ...rest } = options();
    const ending = await startApplication({ ...rest, app_main: { ...app_main, database: { connect_timeout: 60_000 } } });
    const close = prepareClose(ending.app, 1500);
    const held = await Promise.all([open('/wide.ndjson', ending.url), open('/wide.ndjson', ending.url)]);
    const lost = held.map((response) => new Promise((resolve) => response.on('error', () => {}).once('close', resolve)));
    const waiting = ending.request('GET', '/row.csv');
    await sleep(300);
    const start = performance.now();
    const closed = close();
    expect((await waiting).json).toMatchObject({ status: 503, code: 'too_many_exports' });
    await closed;
    expect(performance.now() - start).toBeLessThan(10_000);
    for (const response of held) response.resume();
    await Promise.all(lost);
    expect(held.map(({ complete }) => complete)).toEqual([false, false]);
    await ending.close();
  });

  test('of one caller leave capacity for other callers', async () => {
    const { app_main, ...rest } = options();
    const api_keys = { a: { key: 'the-key-of-caller-a' }, b: { key: 'the-key-of-caller-b' } };
    const fair = await startApplication({ ...rest, app_main: { ...app_main, exports: { at_once: 3 }, security: { api_keys } } });
    try {
      const headers = { 'x-api-key': 'the-key-of-caller-a' };
      const held = [await open('/wide.ndjson', fair.url, headers), await open('/wide.ndjson', fair.url, headers)];
      const third = fair.request('GET', '/nothing.csv', { headers });
      expect(
        (await fair.request('GET', '/row.csv?place[lt]=9', { headers: { 'x-api-key': 'the-key-of-caller-b' } })).status,
      ).toBe(200);
      expect((await third).json).toMatchObject({ status: 503, code: 'too_many_exports' });
      for (const response of held) response.destroy();
    } finally {
      await fair.close();
    }
  });

  test('wait for one another, up to a time limit', async () => {
    const held = await Promise.all([open('/wide.ndjson'), open('/wide.ndjson')]);
    const refused = await app.request('GET', '/row.csv');
    expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([503, 'too_many_exports', '5']);
    expect(refused.headers.get('content-disposition')).toBe(null);
    const waiting = app.request('GET', '/nothing.csv');
    await sleep(100);
    for (const response of held) response.destroy();
    expect((await waiting).status).toBe(200);
  });
});

/** What comes first; nothing more comes until it is asked for. */
function firstPiece(response: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    response.once('data', (piece: Buffer) => {
      response.pause();
      resolve(piece);
    });
  });
}

function cellOf(item: unknown, column: string): string | null {
  const value = column
    .split('.')
    .reduce<unknown>((found, name) => (found as Record<string, unknown> | null)?.[name] ?? null, item);
  return value === null ? null : String(value);
}
