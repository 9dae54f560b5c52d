// @module-tag divided
import { get, type IncomingMessage } from 'node:http';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { until } from './things.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    size: p.integer().groups('read'),
    text: p.text().groups('read', 'write'),
  },
});

/** Makes its API read entities. */
class EntityController extends ApiController {
  override afterFetch(): void {}
}

const limit = 16_777_216;
/** More than the buffers of a connection hold. */
const large = 12_000_000;

describe.each(databases)('responses on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const list = { class: Note, pagination: { items_per_page: 20 }, filters: { size: ['eq'] }, sort: ['id'] } as const;
    const actions = { _index: null, _entity: { methods: { GET: true, PATCH: true } } } as const;
    app = await startApplication({
      app_main: {
        formats: ['json', 'xml', 'csv'],
        server: { response_limit: limit, response_buffer: 30_000_000, stall_timeout: 1000 },
        security: { api_keys: { other: { key: 'a-key-of-another-caller' } } },
        apis: {
          note: { ...list, base_path: '/note', actions },
          entity: { ...list, base_path: '/entity', controller: EntityController, actions },
        },
      },
      models: [Note],
      controllers: [EntityController],
      databaseUrl: database.url,
    });
    const text = (size: number) => (kind === 'sqlite' ? `replace(hex(zeroblob(${size / 2})), '0', 'x')` : `repeat('x', ${size})`);
    const em = app.application.mapper.em.fork();
    const rows = [
      ...Array.from({ length: 12 }, (_, i) => `(${i + 1}, 2, ${text(2_000_000)})`),
      `(20, 1, ${text(large)})`,
      `(21, 20, ${text(20_000_000)})`,
    ];
    await em.execute(`insert into note (id, size, text) values ${rows.join()}`);
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const asked = async (path: string, method = 'GET', body?: object) => {
    const { json, status } = await app.request(method, path, body && { json: body });
    return [status, json?.code];
  };

  test.each(['note', 'entity'])('beyond the limit return 413, and smaller ones are sent: /%s', async (path) => {
    expect(await asked(`/${path}.json?size=2`)).toEqual([413, 'response_too_large']);
    const { json } = await app.request('GET', `/${path}/21.json`);
    expect(json).toMatchObject({
      status: 413,
      code: 'response_too_large',
      detail: `the response would exceed ${limit} bytes; request fewer items (items_per_page) or fewer fields, or use an export`,
    });
    expect(await asked(`/${path}.json?size=2&items_per_page=3`)).toEqual([200, undefined]);
    expect((await app.request('GET', `/${path}/1.json`)).json.text).toHaveLength(2_000_000);
    expect((await app.request('GET', `/${path}.csv?size=2`)).text.length).toBeGreaterThan(24_000_000);
  });

  test.each(['note', 'entity'])('that are long are complete in XML: /%s', async (path) => {
    const { status, text } = await app.request('GET', `/${path}.xml?size=2&items_per_page=3`);
    expect(status).toBe(200);
    expect(text.match(/<item><id>\d+<\/id><size>2<\/size><text>x{2000000}<\/text><\/item>/g)).toHaveLength(3);
    expect(text.endsWith('</response>\n')).toBe(true);
  });

  test.each(['note', 'entity'])('to a write of an entity are limited as well: /%s', async (path) => {
    expect(await asked(`/${path}/21.json`, 'PATCH', {})).toEqual([413, 'response_too_large']);
  });

  test.each(['note', 'entity'])(
    'to clients that do not read are bounded, and these clients are disconnected: /%s',
    async (path) => {
      const unread = (key?: string) =>
        new Promise<IncomingMessage>((resolve, reject) => {
          const headers = key === undefined ? {} : { 'x-api-key': key };
          get(`${app.url}/${path}/20.json`, { headers, agent: false }, (response) => resolve(response.on('error', () => {}))).on(
            'error',
            reject,
          );
        });
      const first = await unread();
      const second = await unread();
      const other = await unread('a-key-of-another-caller');
      expect([first, second, other].map(({ statusCode }) => statusCode)).toEqual([200, 503, 200]);
      expect(second.headers['retry-after']).toBe('1');
      second.resume();
      const third = await unread('a-key-of-another-caller');
      expect(third.statusCode).toBe(503);
      third.resume();
      expect(await asked(`/${path}/1.json`)).toEqual([200, undefined]);
      await until(async () => (await unread().then((response) => response.resume().statusCode)) === 200);
      const closed = new Promise((resolve) => first.resume().once('close', resolve));
      await closed;
      expect(first.complete).toBe(false);
      other.destroy();
    },
  );

  test.each(['note', 'entity'])('that are long return 503 without capacity, and release it afterwards: /%s', async (path) => {
    const page = `/${path}.json?size=2&items_per_page=3`;
    const statuses = (await Promise.all(Array.from({ length: 12 }, () => asked(page)))).map(([status]) => status);
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    for (const _ of [1, 2, 3]) expect(await asked(page)).toEqual([200, undefined]);
  });

  test('that are long are the same with or without entities, and their ETags return 304', async () => {
    const [one, other] = await Promise.all(
      ['note', 'entity'].map((path) => app.request('GET', `/${path}.json?size=2&items_per_page=2&sort=id`)),
    );
    const results = (response: typeof one) => response?.text.slice(0, response.text.indexOf('"pagination"'));
    // not by toBe, which would print megabytes
    expect(results(one) === results(other)).toBe(true);
    const again = await app.request('GET', '/note.json?size=2&items_per_page=2&sort=id', {
      headers: { 'if-none-match': one?.headers.get('etag') as string },
    });
    expect(again.status).toBe(304);
  });
});
