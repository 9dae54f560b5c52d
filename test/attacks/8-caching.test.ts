import { defineEntity, p } from '@mikro-orm/core';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, declarest, type ModelQuery } from '../../src/index.ts';
import { type SharedCache, startSharedCache } from './support/shared-cache.ts';
import { useTarget } from './support/target.ts';

type Any = any;

const Letter: Any = defineEntity({
  name: 'Letter',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    owner: p.string().nullable(),
  },
});

/** Everybody sees their own letters, and those without an owner. */
class LetterController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
    query.andWhere({ owner: { $in: [request.user?.id ?? null, 'all'] } } as never);
  }

  whoApi(request: ApiRequest) {
    return { who: request.user?.id ?? null };
  }

  newsApi() {
    return this.json({ news: Math.random() }, { headers: { 'Cache-Control': 'public, max-age=600' } });
  }

  /** Has no tag. */
  otherApi(request: ApiRequest) {
    return this.json({ who: request.user?.id ?? null }, { status: 203 });
  }
}

const get = { GET: true, HEAD: true } as const;
const whole = { single_collection: 'collection', methods: get } as const;
const formats = ['json', 'csv', 'ndjson', 'xml'] as const;
const letters = { class: Letter, controller: LetterController, formats } as const;
const actions = {
  _index: { methods: { ...get, POST: true } },
  _entity: { methods: get },
  who: whole,
  other: whole,
} as const;

const keys = { ann: 'a-key-of-ann-long-enough', bob: 'a-key-of-bob-long-enough', eve: 'a-key-of-eve-long-enough' };
const jwt = { secret: 'a secret of the letters that is long enough' };
const api_keys = {
  ann: { key: keys.ann, roles: ['ROLE_USER'] },
  bob: { key: keys.bob, roles: ['ROLE_USER'] },
  eve: { key: keys.eve, roles: [] },
};
const application: Any = {
  app_main: {
    security: { jwt, api_keys },
    apis: {
      open: { ...letters, base_path: '/open', actions: { ...actions, news: whole } },
      closed: { ...letters, base_path: '/closed', base_role: 'ROLE_USER', actions },
    },
  },
  models: [Letter],
  controllers: [LetterController],
  seed: async (em: Any) => {
    for (const [index, owner] of ['ann', 'bob', 'carl', 'all'].entries()) {
      em.create(Letter, { id: index + 1, text: `to ${owner}`, owner });
    }
    await em.flush();
  },
};

const suffixes = ['', '/1', '/2', '/9', '/who', '/other'];
const pathsIn = (format: string) =>
  ['/open', '/closed'].flatMap((base) => suffixes.map((suffix) => `${base}${suffix}.${format}`));
/** With those that match no route, or none of that method. */
const targets: readonly (readonly [string, string])[] = [
  ...formats.flatMap(pathsIn).map((path) => ['GET', path] as const),
  ...pathsIn('csv').map((path) => ['HEAD', path] as const),
  ['POST', '/open.json'],
  ['POST', '/closed.json'],
  ['POST', '/closed/1.json'],
  ['GET', '/closed.html'],
  ['GET', '/closed/x/y/z.json'],
  ['GET', '/nothing'],
  ['GET', '/closed.json?unknown=1'],
  ['GET', '/closed.csv?page=2'],
  ['GET', '/health/ready'],
  ['GET', '/health/live'],
];

describe('API8:2023 responses in shared caches (CWE-524, CWE-525)', () => {
  const target = useTarget('sqlite', application);
  let cache: SharedCache;
  let callers: readonly Readonly<Record<string, string>>[];
  beforeAll(async () => {
    cache = await startSharedCache(target.app.url);
    const token = await target.app.tokenFor({ id: 'carl', roles: ['ROLE_USER'] });
    callers = [
      { 'x-api-key': keys.ann },
      { 'x-api-key': keys.bob },
      { 'x-api-key': keys.eve },
      { authorization: `Bearer ${token}` },
      { authorization: `ApiKey ${keys.ann}` },
      {},
      { 'x-api-key': 'a key that nobody has' },
      { authorization: 'Bearer none' },
    ];
  });
  afterAll(() => cache?.close());

  test('the proxy caches a public response', async () => {
    const [first, second] = [await cache.send('GET', '/open/news.json'), await cache.send('GET', '/open/news.json')];
    expect([first?.headers['x-cache'], second?.headers['x-cache']]).toEqual(['MISS', 'HIT']);
    expect(second?.text).toBe(first?.text);
  });

  test('a public response is cached separately for each credential', async () => {
    const sent = async (headers: Readonly<Record<string, string>>) => (await cache.send('GET', '/open/news.json', headers)).text;
    const [ann, bob, nobody] = [await sent({ 'x-api-key': keys.ann }), await sent({ 'x-api-key': keys.bob }), await sent({})];
    expect(new Set([ann, bob, nobody]).size).toBe(3);
    expect(await sent({ 'x-api-key': keys.ann })).toBe(ann);
  });

  test.each(targets)('%s %s is never served from the cache', async (method, path) => {
    const isWrite = method === 'POST';
    const sent = isWrite ? { body: '{"text":"new"}', headers: { 'content-type': 'application/json' } } : { headers: {} };
    for (const caller of callers) {
      const headers = { ...sent.headers, ...caller };
      const direct = await target.send(method, path, { ...sent, headers });
      const cached = await cache.send(method, path, headers, sent.body);
      expect(cached.headers['x-cache']).toBe('MISS');
      expect(cached.status).toBe(direct.status);
      if (!isWrite) expect(cached.text).toBe(direct.text);
      const isKept = !isWrite && direct.status < 400 && !path.startsWith('/health');
      expect(direct.headers['cache-control']).toBe(isKept ? 'private, no-cache' : 'no-store');
      if (!path.startsWith('/health')) expect(direct.headers.vary).toBe('Authorization, X-Api-Key');
    }
  });

  test('rejections before routing are not cached', async () => {
    for (const bytes of [
      'GET /closed.json HTTP/1.1\r\n\r\n',
      'GET /closed.json HTTP/1.1\r\nHost: a\r\nExpect: x\r\nConnection: close\r\n\r\n',
      'GET /%ff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      'nonsense\r\n\r\n',
    ]) {
      const [answer] = await target.raw(bytes);
      expect(answer?.status).toBeGreaterThanOrEqual(400);
      expect(answer?.headers['cache-control']).toBe('no-store');
    }
  });

  test('responses that are the same for all callers can be cached with revalidation', async () => {
    const of = async (path: string) => (await target.send('GET', path)).headers['cache-control'];
    expect([await of('/openapi.json'), await of('/docs'), await of('/')]).toEqual(['no-cache', 'no-cache', 'no-cache']);
  });
});

describe('API8:2023 responses in shared caches, as a plugin of a Fastify server', () => {
  test('headers set by the host server are kept, and errors are not cached', async () => {
    const host = Fastify();
    host.addHook('onRequest', async (request, reply) => {
      reply.header('vary', 'Origin');
      if (request.url.startsWith('/open')) reply.header('cache-control', 'public, max-age=5');
    });
    await host.register(declarest, { ...application, databaseUrl: 'sqlite::memory:' } as never);
    const headersOf = async (url: string) => {
      const { headers } = await host.inject({ url, headers: { 'x-api-key': keys.ann } });
      return [headers['cache-control'], headers.vary];
    };
    const vary = 'Origin, Authorization, X-Api-Key';
    expect(await headersOf('/open.json')).toEqual(['public, max-age=5', vary]);
    expect(await headersOf('/open/9.json')).toEqual(['no-store', vary]);
    expect(await headersOf('/closed.csv')).toEqual(['private, no-cache', vary]);
    await host.close();
  });
});
