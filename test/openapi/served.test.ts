import { gunzipSync } from 'node:zlib';
import { defineEntity, p } from '@mikro-orm/core';
import Fastify, { type FastifyInstance } from 'fastify';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApplicationOptions, createServer, declarest, type RouteDefinition } from '../../src/index.ts';
import { tokenOptions } from '../../src/openapi/pages/sample-users.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), title: p.string().comment('What it is called.').groups('read') },
});
const Secret = defineEntity({
  name: 'Secret',
  properties: { id: p.integer().primary().groups('read'), innermost: p.string().groups('read') },
});

const services = {
  own_routes: {
    load: (): RouteDefinition[] => [
      { name: 'ping', path: '/ping.{_format}', methods: ['GET'], description: 'Answers.', handler: () => ({}) },
      { name: 'backstage', path: '/backstage.{_format}', methods: ['GET'], hidden: true, handler: () => ({ seen: true }) },
    ],
  },
};

function options(app_main: object = {}, env: NodeJS.ProcessEnv = {}): ApplicationOptions {
  return {
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      apis: {
        note: {
          class: 'Note',
          base_path: '/note',
          description: 'Notes <b>of all</b> kinds.',
          actions: {
            _index: { description: 'All of them.' },
            _entity: { methods: { GET: true, DELETE: true }, description: { GET: 'One of them.', DELETE: null } },
          },
        },
        hushed: { class: 'Note', base_path: '/hushed', actions: { _index: { hidden: true }, _entity: null } },
        secret: { class: 'Secret', base_path: '/secret', hidden: true, actions: { _index: null } },
      },
      ...app_main,
    },
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      own: { resource: 'own_routes:load', type: 'service' },
    },
    models: [Note, Secret],
    services,
    env: { ...process.env, ...env },
  } as ApplicationOptions;
}

const production = { NODE_ENV: 'production' };
const titled = { openapi: { title: 'Notes & <more>', version: '1.2.3', description: 'About "notes".' } };

async function withServer(given: ApplicationOptions, use: (app: FastifyInstance) => Promise<void>): Promise<void> {
  const app = await createServer(given);
  try {
    await use(app);
  } finally {
    await app.close();
  }
}

describe('a server outside production', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await createServer(options(titled));
  });
  afterAll(() => app?.close());

  test('serves the document with its declared info, and without hidden parts', async () => {
    const { statusCode, headers, body } = await app.inject('/openapi.json');
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' });
    const document = JSON.parse(body);
    expect(document.info).toMatchObject({ title: 'Notes & <more>', version: '1.2.3', description: 'About "notes".' });
    expect(document.servers).toEqual([{ url: '/' }]);
    expect(Object.keys(document.paths).sort()).toEqual(['/hushed/{id}.json', '/note.json', '/note/{id}.json', '/ping.json']);
    expect(document.tags.map(({ name }: { name: string }) => name)).toEqual(['note', 'hushed', 'own_routes']);
    expect(document.tags[0].description).toBe('Notes <b>of all</b> kinds.');
    expect(document.paths['/note.json'].get.description).toBe('All of them.');
    expect(document.paths['/note/{id}.json'].get.description).toBe('One of them.');
    expect(document.paths['/note/{id}.json'].delete.description).toBeUndefined();
    expect(document.paths['/ping.json'].get.description).toBe('Answers.');
    expect(document.components.schemas.Note.properties.title.description).toBe('What it is called.');
    for (const word of ['secret', 'Secret', 'innermost', 'backstage']) expect(body).not.toContain(word);
    // hidden is not gone
    expect((await app.inject('/secret.json')).statusCode).toBe(200);
    expect((await app.inject('/backstage.json')).json()).toEqual({ seen: true });
  });

  test('compresses it for clients that accept compression', async () => {
    const plain = await app.inject('/openapi.json');
    const packed = await app.inject({ url: '/openapi.json', headers: { 'accept-encoding': 'br;q=1, gzip;q=0.5' } });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
    const refused = await app.inject({ url: '/openapi.json', headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(refused.headers['content-encoding']).toBeUndefined();
    expect((await app.inject({ method: 'HEAD', url: '/openapi.json' })).headers).toMatchObject({
      'content-length': plain.headers['content-length'],
    });
  });

  test('returns 304 to clients that have the current version', async () => {
    for (const url of ['/openapi.json', '/docs']) {
      const { etag } = (await app.inject(url)).headers;
      const again = await app.inject({ url, headers: { 'if-none-match': String(etag), 'accept-encoding': 'gzip' } });
      expect({ status: again.statusCode, body: again.body, etag: again.headers.etag }).toEqual({ status: 304, body: '', etag });
      expect((await app.inject({ url, headers: { 'if-none-match': '"another"' } })).statusCode).toBe(200);
    }
  });

  test('serves a docs page that loads only its own files', async () => {
    const { headers, body } = await app.inject('/docs');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(body).toContain('<title>Notes &amp; &lt;more&gt;</title>');
    expect(body).not.toMatch(/https?:|<style|style=|<script>/);
    const files = [...body.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)].map(([, file]) => `/${file}`);
    expect(files).toHaveLength(5);
    for (const file of files) {
      const answer = await app.inject(file);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    }
    expect((await app.inject('/docs/')).headers).toMatchObject({ location: '../docs' });
  });

  test.each([
    '/docs/package.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/page.css',
    '/docs/constructor',
    '/docs/%00',
    '/docs/a/b',
  ])('returns 404 at %s', async (path) => {
    const answer = await app.inject(path);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ code: 'not_found' });
  });

  test('returns JSON to programs at the start page', async () => {
    for (const accept of ['*/*', 'application/json', undefined, 'text/html;q=0, */*']) {
      const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } });
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', vary: 'accept' });
      expect(answer.json()).toEqual({
        name: 'Notes & <more>',
        version: '1.2.3',
        description: 'About "notes".',
        apis: [
          {
            name: 'note',
            description: 'Notes <b>of all</b> kinds.',
            routes: [
              { path: '/note.{_format}', methods: ['GET', 'HEAD'], formats: ['json'], public: ['GET', 'HEAD'] },
              { path: '/note/{id}.{_format}', methods: ['GET', 'DELETE'], formats: ['json'], public: ['GET', 'DELETE'] },
            ],
          },
          {
            name: 'hushed',
            routes: [{ path: '/hushed/{id}.{_format}', methods: ['GET', 'HEAD'], formats: ['json'], public: ['GET', 'HEAD'] }],
          },
          { name: 'own_routes', routes: [{ path: '/ping.{_format}', methods: ['GET'], formats: ['json'], public: ['GET'] }] },
        ],
        links: { docs: '/docs', explorer: '/explorer', openapi: '/openapi.json', health: '/health/ready' },
      });
    }
  });

  test('returns a page without scripts to browsers at the start page', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const { headers, body } = await app.inject({ url: '/', headers: { accept } });
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}';/);
    expect(body).toContain('Notes &amp; &lt;more&gt;');
    expect(body).toContain('Notes &lt;b&gt;of all&lt;/b&gt; kinds.');
    expect(body).toContain('href="/docs"');
    expect(body).not.toMatch(/<script|style=|secret|backstage|hushed\.json/);
  });
});

test('the document, the docs page and the start page return 404 in production unless declared', async () => {
  await withServer(options(titled, production), async (app) => {
    for (const path of ['/', '/docs', '/docs/', '/openapi.json']) expect((await app.inject(path)).statusCode).toBe(404);
  });
  await withServer(options({ openapi: { enabled: true } }, production), async (app) => {
    for (const path of ['/', '/docs', '/openapi.json']) expect((await app.inject(path)).statusCode).toBe(200);
    // who may sign tokens there has no need of a hint
    expect((await app.inject('/docs')).body).not.toContain('declarest token');
  });
});

test('the paths of the document, the docs page and the start page can be changed or disabled', async () => {
  await withServer(options({ openapi: { path: '/meta/api.json', docs: '/read/it', greeting: false } }), async (app) => {
    expect((await app.inject('/meta/api.json')).statusCode).toBe(200);
    const { body } = await app.inject('/read/it');
    expect(body).toContain('data-openapi="../meta/api.json"');
    expect(body).toMatch(/src="it\/viewer\.[0-9a-f]+\.js"/);
    for (const path of ['/', '/docs', '/openapi.json']) expect((await app.inject(path)).statusCode).toBe(404);
  });
  await withServer(options({ openapi: { path: null } }), async (app) => {
    for (const path of ['/docs', '/openapi.json']) expect((await app.inject(path)).statusCode).toBe(404);
    // what the document does not tell, nobody else tells
    expect((await app.inject('/')).json()).toMatchObject({ apis: [], links: { health: '/health/ready' } });
  });
  await withServer(options({ openapi: { enabled: false } }), async (app) => {
    for (const path of ['/', '/docs', '/openapi.json']) expect((await app.inject(path)).statusCode).toBe(404);
  });
});

test('a route of the application takes precedence over the document and its pages', async () => {
  const own = ['/', '/docs', '/openapi.json'].map(
    (path): RouteDefinition => ({ name: `own${path}`, path, methods: ['GET'], handler: () => ({ own: path }) }),
  );
  const given = { ...options(), services: { own_routes: { load: () => own } } } as ApplicationOptions;
  await withServer(given, async (app) => {
    for (const path of ['/', '/docs', '/openapi.json']) expect((await app.inject(path)).json()).toEqual({ own: path });
  });
});

describe('on a server of the host application', () => {
  async function mounted(given: ApplicationOptions, prefix: string): Promise<FastifyInstance> {
    const app = Fastify({ exposeHeadRoutes: false });
    app.get('/theirs/docs', () => 'theirs');
    await app.register(declarest, { ...given, prefix });
    await app.ready();
    return app;
  }

  test('nothing is served unless declared', async () => {
    const app = await mounted(options(), '/v1');
    for (const path of ['/', '/v1', '/v1/docs', '/v1/openapi.json']) expect((await app.inject(path)).statusCode).toBe(404);
    await app.close();
  });

  test('all paths are below the prefix, and below the path that proxies add', async () => {
    const app = await mounted(
      options({ openapi: { enabled: true }, server: { base_url: 'https://example.org/api' } }),
      '/v1/:tenant',
    );
    const document = (await app.inject('/v1/x/openapi.json')).json();
    expect(document.servers).toEqual([
      { url: 'https://example.org/api/v1/{tenant}', variables: { tenant: { default: 'tenant' } } },
    ]);
    expect((await app.inject('/v1/x/docs')).statusCode).toBe(200);
    expect((await app.inject('/v1/x/')).json().links).toEqual({
      docs: 'https://example.org/api/v1/x/docs',
      explorer: 'https://example.org/api/v1/x/explorer',
      openapi: 'https://example.org/api/v1/x/openapi.json',
    });
    await app.close();
  });

  test('an existing route of the host takes precedence', async () => {
    const app = await mounted(options({ openapi: { enabled: true } }), '/theirs');
    expect((await app.inject('/theirs/docs')).body).toBe('theirs');
    expect((await app.inject('/theirs/')).json().links).toEqual({
      explorer: '/theirs/explorer',
      openapi: '/theirs/openapi.json',
    });
    await app.close();
  });
});

describe('sample users', () => {
  const secret = 'a secret of sample users, long enough';
  const security = {
    jwt: { secret },
    sample_users: { 'Ada L.': { id: 7, roles: ['ROLE_A', 'ROLE_B'], claims: { tenants: [1, 2], city: "it's", code: '12' } } },
  };

  test('get a token from the docs page, and are part of its command', async () => {
    await withServer(options({ security }), async (app) => {
      const page = await app.inject('/docs');
      expect(page.body).toContain('<option value="Ada L.">Ada L.</option>');
      const { statusCode, headers, body } = await app.inject('/docs/token/Ada%20L.');
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' });
      const { payload } = await jwtVerify(body, new TextEncoder().encode(secret));
      expect(payload).toMatchObject({ sub: '7', roles: ['ROLE_A', 'ROLE_B'], tenants: [1, 2], city: "it's", code: '12' });
    });
  });

  test.each([
    ['an unknown name', '/docs/token/Bob', {}],
    ['a page of another site', '/docs/token/Ada%20L.', { 'sec-fetch-site': 'cross-site' }],
    ['a site whose name leads to this server', '/docs/token/Ada%20L.', { host: 'evil.example:3000' }],
  ])('give no token to %s', async (_, url, headers) => {
    await withServer(options({ security }), async (app) => {
      const { statusCode, body } = await app.inject({ url, headers });
      expect(statusCode).toBe(404);
      expect(body).not.toContain('eyJ');
    });
  });

  test('do not exist in production, whatever is served there', async () => {
    const served = { security, openapi: { enabled: true } };
    await withServer(options(served, production), async (app) => {
      expect((await app.inject('/docs')).body).not.toContain('Ada');
      expect((await app.inject('/docs/token/Ada%20L.')).statusCode).toBe(404);
    });
  });

  test('quote what a shell would change', () => {
    const user = { id: '7', roles: ['A', 'B'], claims: { tenants: [1], city: "it's", code: '12', plain: 'x' } };
    expect(tokenOptions(user)).toBe(
      `--sub 7 --roles A,B --claim 'tenants=[1]' --claim 'city=it'\\''s' --claim 'code="12"' --claim plain=x`,
    );
    expect(tokenOptions({ id: '7', roles: [], claims: {} })).toBe("--sub 7 --roles ''");
  });
});
