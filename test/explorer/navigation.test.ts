import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApplicationOptions, createServer, declarest, type RouteDefinition } from '../../src/index.ts';
import { replay } from '../support/random.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    version: p.integer().version(),
  },
});

/** What Chromium sends if somebody opens an address. */
const browser = {
  accept:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'none',
};

function options(app_main: object = {}, env: NodeJS.ProcessEnv = {}): ApplicationOptions {
  const own: RouteDefinition = { name: 'own', path: '/own.{_format}', methods: ['GET'], handler: () => ({ own: true }) };
  const methods = { GET: true, HEAD: true, POST: true };
  return {
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      formats: ['json', 'csv', 'xml'],
      apis: {
        note: {
          class: 'Note',
          base_path: '/api/note',
          sort: ['title'],
          actions: { _index: { methods }, _entity: { methods: { GET: true, HEAD: true, PATCH: true, DELETE: true } } },
        },
        guarded: { class: 'Note', base_path: '/api/guarded', base_role: 'ROLE_A', actions: { _index: null } },
        hushed: { class: 'Note', base_path: '/api/hushed', hidden: true, actions: { _index: null } },
        tenant: { class: 'Note', base_path: '/api/{tenant}/note', actions: { _index: null } },
      },
      ...app_main,
    },
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      own: { resource: 'own_routes:load', type: 'service' },
    },
    models: [Note],
    services: { own_routes: { load: () => [own] } },
    seed: (em: { create(type: unknown, data: object): unknown }) => {
      for (const title of ['a', 'b', '<script>alert(1)</script>']) em.create(Note, { title });
    },
    env: { ...process.env, ...env },
  } as ApplicationOptions;
}

describe('a browser that opens an address', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await createServer(options());
  });
  afterAll(() => app?.close());
  const open = (url: string, headers: object = {}) => app.inject({ url, headers: { ...browser, ...headers } });

  test.each([
    ['/api/note.json', '/explorer/note'],
    ['/api/note.json?sort=-title&page=1', '/explorer/note?sort=-title&page=1'],
    ['/api/note/1.json', '/explorer/note/1'],
    ['/api/x%20y/note.json?page=1', '/explorer/tenant?%7Btenant%7D=x%20y&page=1'],
  ])('is sent from %s to %s', async (url, location) => {
    const { body, headers, statusCode } = await open(url);
    expect({ body, statusCode }).toEqual({ body: '', statusCode: 303 });
    expect(headers).toMatchObject({ location, 'cache-control': 'no-store' });
    expect(headers.vary).toContain('accept');
    expect(headers).not.toHaveProperty('etag');
    const { etag } = (await app.inject(url)).headers;
    expect((await open(url, { 'if-none-match': String(etag) })).statusCode).toBe(303);
  });

  test.each([
    ['by a link of the explorer', '/api/note.json', { referer: 'http://localhost:80/explorer/note?sort=title' }],
    ['a list as CSV', '/api/note.csv', {}],
    ['a list as XML', '/api/note.xml', {}],
    ['a route without a view', '/own.json', {}],
    ['a hidden API', '/api/hushed.json', {}],
    ['as an image', '/api/note.json', { 'sec-fetch-dest': 'image' }],
  ])('gets the response of programs: %s', async (_, url, headers) => {
    const seen = await open(url, headers);
    const program = await app.inject(url);
    expect({ status: seen.statusCode, body: seen.body }).toEqual({ status: 200, body: program.body });
  });

  test('is not sent back to the list by a link of another site', async () => {
    for (const referer of ['http://evil.example/explorer', 'http://localhost:80/', 'not an address'])
      expect((await open('/api/note.json', { referer })).statusCode).toBe(303);
  });

  test.each([
    ['/api/guarded.json?page=1', 401, 'authentication_required', '/explorer/guarded?page=1'],
    ['/api/note/99.json', 404, 'entity_not_found', '/explorer/note/99'],
    ['/nowhere"><script>alert(1)</script>', 404, 'not_found', '/explorer'],
    ['//evil.example/x', 404, 'not_found', '/explorer'],
  ])('gets a page about the problem at %s', async (url, status, code, explorer) => {
    const { body, headers, statusCode } = await open(url);
    const program = await app.inject(url);
    expect(program.json()).toMatchObject({ status, code });
    expect(statusCode).toBe(status);
    expect(headers['www-authenticate']).toBe(program.headers['www-authenticate']);
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    const { detail } = program.json() as { detail: string };
    const escaped = detail.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
    expect(body).toContain(escaped);
    expect(body).not.toMatch(/<script|href="\/\//);
    for (const place of [explorer, '/docs', '/']) expect(body).toContain(`href="${place}"`);
    // its link to the JSON
    if (!url.startsWith('/api/')) return;
    const again = await open(url, { referer: `http://localhost:80${url}` });
    expect(again.json()).toEqual(program.json());
  });

  test('gets a page about 403, and the login page of the application', async () => {
    const secret = 'a secret that is long enough for tokens';
    const security = { jwt: { secret }, sample_users: { Bob: { id: 1, roles: ['ROLE_B'], claims: {} } } };
    const other = await createServer(options({ security, explorer: { login: 'https://example.org/login?a=1&b=2' } }));
    const token = (await other.inject('/explorer/~token/Bob')).body;
    const headers = { ...browser, authorization: `Bearer ${token}` };
    const { body, statusCode } = await other.inject({ url: '/api/guarded.json', headers });
    expect(statusCode).toBe(403);
    expect(body).toContain('href="https://example.org/login?a=1&amp;b=2"');
    await other.close();
  });

  test('is not sent to an explorer that is off, nor in production', async () => {
    for (const given of [
      options({ explorer: false }),
      options({ explorer: true }, { NODE_ENV: 'production' }),
      options({ openapi: { enabled: true } }, { NODE_ENV: 'production' }),
    ]) {
      const other = await createServer(given);
      for (const url of ['/api/note.json', '/api/guarded.json', '/nowhere'])
        expect((await other.inject({ url, headers: browser })).body).toBe((await other.inject(url)).body);
      await other.close();
    }
  });

  test('is sent to the explorer of a host below its prefix', async () => {
    const host = Fastify({ exposeHeadRoutes: false });
    await host.register(declarest, { ...options({ explorer: true, server: { base_url: '/outer' } }), prefix: '/v1' });
    const { headers } = await host.inject({ url: '/v1/api/note.json?page=1', headers: browser });
    expect(headers.location).toBe('/outer/v1/explorer/note?page=1');
    const missing = await host.inject({ url: '/v1/api/note/99.json', headers: browser });
    expect(missing.statusCode).toBe(404);
    expect(missing.body).toContain('href="/outer/v1/explorer/note/99"');
    const theirs = await host.inject({ url: '/theirs', headers: browser });
    expect(theirs.headers['content-type']).toContain('application/json');
    await host.close();
  });
});

describe('programs', () => {
  let on: FastifyInstance;
  let off: FastifyInstance;
  beforeAll(async () => {
    on = await createServer(options({ explorer: true, server: { request_id: null } }));
    off = await createServer(options({ explorer: false, server: { request_id: null } }));
  });
  afterAll(() => Promise.all([on?.close(), off?.close()]));

  const program = fc.constantFrom(
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html',
    'application/json, text/plain, */*',
    'text/html;q=0',
    'text/html;q=0.5, application/json;q=0.5',
    'text/html;q=0.8, */*',
    'text/*',
    'text/csv',
    'application/problem+json',
  );
  const request = fc.record({
    method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS'),
    path: fc.constantFrom(
      '/api/note.json',
      '/api/note.csv',
      '/api/note.xml',
      '/api/note/1.json',
      '/api/note/2.json',
      '/api/note/99.json',
      '/api/guarded.json',
      '/api/x/note.json',
      '/own.json',
      '/nowhere',
      '/openapi.json',
      '/docs',
      '/%zz',
    ),
    query: fc.constantFrom('', '?sort=-title', '?page=2', '?unknown=1', '?fields=id'),
    accept: program,
    body: fc.constantFrom('{"title":"new"}', '{', '{"title":1}'),
  });
  type Sent = typeof request extends fc.Arbitrary<infer T> ? T : never;

  async function answerOf(app: FastifyInstance, { accept, body, method, path, query }: Sent) {
    const hasBody = method === 'POST' || method === 'PATCH' || method === 'PUT';
    const { headers, rawPayload, statusCode } = await app.inject({
      method: method as 'GET',
      url: path + query,
      headers: { ...(accept !== undefined && { accept }), ...(hasBody && { 'content-type': 'application/json' }) },
      ...(hasBody && { payload: body }),
    });
    const { date: _, ...others } = headers;
    return { statusCode, headers: others, body: rawPayload.toString('latin1') };
  }

  test('get the same bytes, status and headers with the explorer and without', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        expect(await answerOf(on, sent)).toEqual(await answerOf(off, sent));
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 300), ...replay },
    );
  });
});
