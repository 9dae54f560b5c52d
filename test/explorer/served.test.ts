import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { defineEntity, p } from '@mikro-orm/core';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApplicationOptions, createServer, declarest, type RouteDefinition } from '../../src/index.ts';
import { makeExplorerPage } from '../../src/openapi/explorer/page.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read') },
});
const secret = 'a secret of sample users, long enough';
const sample_users = { 'Ada L.': { id: 7, roles: ['ROLE_A'], claims: {} } };

function options(app_main: object = {}, env: NodeJS.ProcessEnv = {}, routes: RouteDefinition[] = []): ApplicationOptions {
  return {
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      security: { jwt: { secret }, sample_users },
      apis: {
        note: { class: 'Note', base_path: '/api/note', actions: { _index: null, _entity: null } },
        guarded: { class: 'Note', base_path: '/api/guarded', base_role: 'ROLE_A', actions: { _index: null } },
      },
      ...app_main,
    },
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      own: { resource: 'own_routes:load', type: 'service' },
    },
    models: [Note],
    services: { own_routes: { load: () => routes } },
    env: { ...process.env, ...env },
  } as ApplicationOptions;
}

const production = { NODE_ENV: 'production' };

async function withServer(given: ApplicationOptions, use: (app: FastifyInstance) => Promise<void>): Promise<void> {
  const app = await createServer(given);
  try {
    await use(app);
  } finally {
    await app.close();
  }
}

/** The settings in the page, as its script reads them. */
function settingsIn(html: string): unknown {
  const content = /<meta name="declarest" content="([^"]*)">/.exec(html)?.[1] ?? '';
  return JSON.parse(
    content
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

function filesIn(html: string): string[] {
  return [...html.matchAll(/(?:href|src)="([^"]+\.(?:js|css))"/g)].map(([, file]) => file as string);
}

describe('a server outside production', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await createServer(options({ explorer: { login: '/login?from="<explorer>&"' } }));
  });
  afterAll(() => app?.close());

  test('serves the explorer at its path and at every path below', async () => {
    const { body, headers, statusCode } = await app.inject('/explorer');
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    });
    expect(body).not.toMatch(/https?:|<style|style=|<script>/);
    for (const path of [
      '/explorer/',
      '/explorer/note',
      '/explorer/note/1?fields=id',
      '/explorer/note/a.b%2fc',
      '/explorer/%00',
      '/explorer/token/1',
      '/explorer/explain',
    ])
      expect((await app.inject(path)).body).toBe(body);
    expect((await app.inject({ method: 'HEAD', url: '/explorer' })).statusCode).toBe(200);
    const again = await app.inject({ url: '/explorer', headers: { 'if-none-match': String(headers.etag) } });
    expect(again.statusCode).toBe(304);
  });

  test('puts its settings into the page, escaped', async () => {
    const { body } = await app.inject('/explorer/note');
    expect(settingsIn(body)).toEqual({
      openapi: '/openapi.json',
      mount: '',
      login: '/login?from="<explorer>&"',
      sampleUsers: '/explorer/~sample-users',
      development: true,
      explain: null,
    });
  });

  test('serves script and style sheet under names that change with their contents', async () => {
    const files = filesIn((await app.inject('/explorer/note/1')).body);
    expect(files).toHaveLength(2);
    const types = ['text/css; charset=utf-8', 'text/javascript; charset=utf-8'];
    for (const [index, file] of files.entries()) {
      expect(file).toMatch(/^\/explorer\/explorer\.[0-9a-f]{16}\.(js|css)$/);
      const { headers, statusCode } = await app.inject(file);
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'content-type': types[index],
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    }
    for (const outdated of ['/explorer/explorer.js', '/explorer/explorer.0123456789abcdef.css'])
      expect((await app.inject(outdated)).statusCode).toBe(404);
  });

  test('offers the sample users, and their tokens to its own pages only', async () => {
    const users = (await app.inject('/explorer/~sample-users')).json();
    expect(users).toEqual([{ name: 'Ada L.', token: '/explorer/~token/Ada%20L.' }]);
    const token = await app.inject(users[0].token);
    expect(token.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' });
    const authorization = `Bearer ${token.body}`;
    expect((await app.inject({ url: '/api/guarded.json', headers: { authorization } })).statusCode).toBe(200);
    const foreign = await app.inject({ url: users[0].token, headers: { 'sec-fetch-site': 'cross-site' } });
    expect(foreign.statusCode).toBe(404);
  });
});

describe('the explorer', () => {
  const statusOf = async (given: ApplicationOptions, path = '/explorer') => {
    let status = 0;
    await withServer(given, async (app) => {
      status = (await app.inject(path)).statusCode;
    });
    return status;
  };

  test.each([
    ['is off in production', {}, production, 404],
    ['is on in production if declared', { explorer: true }, production, 200],
    ['is on in production if the docs page is', { openapi: { enabled: true } }, production, 200],
    ['is off if declared so', { explorer: false }, {}, 404],
    ['is off without a docs page', { openapi: { docs: null } }, {}, 404],
    ['is on without a docs page if declared', { openapi: { docs: null }, explorer: true }, {}, 200],
    ['is off without a document', { openapi: { enabled: false } }, {}, 404],
  ])('%s', async (_, app_main, env, status) => {
    expect(await statusOf(options(app_main, env))).toBe(status);
  });

  test('serves the document but no other page in production, and no sample users', async () => {
    await withServer(options({ explorer: true }, production), async (app) => {
      expect((await app.inject('/openapi.json')).statusCode).toBe(200);
      for (const path of ['/', '/docs']) expect((await app.inject(path)).statusCode).toBe(404);
      const { body } = await app.inject('/explorer');
      expect(settingsIn(body)).toMatchObject({ sampleUsers: null, development: false, explain: null });
      // only the page of the client-side routes
      expect((await app.inject('/explorer/~sample-users')).body).toBe(body);
      expect((await app.inject('/explorer/~token/Ada%20L.')).body).toBe(body);
    });
  });

  test.each([
    [{ explorer: true, openapi: { enabled: false } }, 'openapi.enabled is false'],
    [{ explorer: { login: null }, openapi: { path: null } }, 'openapi.path is null'],
  ])('is a startup error without the document: %j', async (app_main, reason) => {
    await expect(createServer(options(app_main))).rejects.toThrow(
      `app_main.explorer: the explorer needs the OpenAPI document, and ${reason}; serve the document, or set explorer to false`,
    );
  });

  test.each(['javascript:alert(1)', '//evil.example', '/\\evil.example', 'login', 'data:text/html,x'])(
    'rejects the login page %s',
    async (login) => {
      await expect(createServer(options({ explorer: { login } }))).rejects.toThrow(
        'app_main.explorer.login: "login" must be a path such as',
      );
    },
  );

  test.each(['/explorer', '/explorer/{page}', '/{tenant}/{page}'])(
    'gives way to the route %s of the application',
    async (path) => {
      const own: RouteDefinition = { name: 'own', path, methods: ['GET'], handler: () => ({ own: true }) };
      await withServer(options({}, {}, [own]), async (app) => {
        const taken = path.replace('{page}', 'note').replace('{tenant}', 'explorer');
        expect((await app.inject(taken)).json()).toEqual({ own: true });
        expect((await app.inject('/')).json().links).not.toHaveProperty('explorer');
      });
    },
  );

  test('is mounted below the prefix of a host, and below the path that proxies add', async () => {
    const host = Fastify({ exposeHeadRoutes: false });
    const given = options({ explorer: true, server: { base_url: 'https://example.org/outer' } });
    await host.register(declarest, { ...given, prefix: '/v1/:tenant' });
    const { body } = await host.inject('/v1/x%22%3E/explorer/note');
    const base = '/outer/v1/x%22%3E';
    expect(settingsIn(body)).toMatchObject({ openapi: `${base}/openapi.json`, mount: base });
    const [file = ''] = filesIn(body);
    expect(file).toMatch(new RegExp(`^${base}/explorer/explorer\\.`));
    expect((await host.inject(file.replace('/outer', ''))).statusCode).toBe(200);
    for (const path of ['/explorer', '/v1/x/docs']) expect((await host.inject(path)).statusCode).toBe(404);
    await host.close();
  });
});

test('compressed files are sent as they are, and decompressed for clients that do not accept Brotli', async () => {
  const script = 'export const script = 1;\n'.repeat(100);
  const brotli = brotliCompressSync(script);
  const read = (name: string) => (name === 'index.html' ? plain('<title>x</title>') : { bytes: Buffer.from(script), brotli });
  const plain = (text: string) => ({ bytes: Buffer.from(text), brotli: null });
  const [kept] = makeExplorerPage({ read }).assets.values();
  const host = Fastify();
  host.get('/', async (request, reply) => kept?.send(request, reply));
  const packed = await host.inject({ url: '/', headers: { 'accept-encoding': 'gzip, deflate, br, zstd' } });
  expect(packed.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' });
  expect(brotliDecompressSync(packed.rawPayload).toString()).toBe(script);
  const unpacked = await host.inject({ url: '/', headers: { 'accept-encoding': 'br;q=0' } });
  expect(unpacked.headers).not.toHaveProperty('content-encoding');
  expect(unpacked.body).toBe(script);
  await host.close();
});
