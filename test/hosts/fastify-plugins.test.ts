import cors from '@fastify/cors';
import swagger from '@fastify/swagger';
import { defineEntity, p } from '@mikro-orm/core';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type CodeOptions, declarest } from '../../src/index.ts';
import { takeObjections } from '../support/documents/watch-responses.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read', 'write') },
});

function options(app_main: object = {}): CodeOptions {
  return {
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      openapi: { enabled: true },
      security: { api_keys: { robot: { key: 'a-key-that-only-robots-know-0123456789', roles: [] } } },
      apis: {
        note: { class: 'Note', base_path: '/note', actions: { _index: { methods: { GET: true, POST: true } }, _entity: null } },
      },
      ...app_main,
    },
    models: [Note],
  } as CodeOptions;
}

let app: FastifyInstance;
afterEach(() => app?.close());

/** A server whose log lines are kept. */
function logged(): { lines: string[]; app: FastifyInstance } {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line).msg) };
  app = Fastify({ logger: { level: 'warn', stream } });
  return { lines, app };
}

test.each(['/openapi.json', '/', '/docs', '/note.json'])('Vary of @fastify/cors stays on %s', async (url) => {
  app = Fastify();
  await app.register(cors, { origin: ['https://one.example', 'https://two.example'] });
  await app.register(declarest, options());
  const { headers, statusCode } = await app.inject({ url, headers: { origin: 'https://one.example' } });
  expect(statusCode).toBe(200);
  expect(headers['access-control-allow-origin']).toBe('https://one.example');
  const vary = String(headers.vary).toLowerCase().split(', ');
  expect(vary).toContain('origin');
  expect(vary.length).toBeGreaterThan(1);
  expect(new Set(vary).size).toBe(vary.length);
});

describe('an error of another plugin', () => {
  /** Throws what the header of the request says, before the routes. */
  async function failing() {
    app = Fastify();
    app.addHook('onRequest', async (request, reply) => {
      const status = Number(request.headers['x-fail'] ?? 0);
      if (status === 429) reply.header('retry-after', '60');
      if (status === 503) reply.header('retry-after', '10');
      if (status === 401) reply.header('www-authenticate', 'Basic realm="office"');
      if (status > 0) throw Object.assign(new Error('the plugin said no'), { statusCode: status });
    });
    await app.register(declarest, options());
    return async (status: number) => {
      const response = await app.inject({ url: '/note.json', headers: { 'x-fail': String(status) } });
      // the document does not describe the responses of other plugins
      await takeObjections();
      return response;
    };
  }

  test.each([
    [401, 'unauthorized'],
    [403, 'access_denied'],
    [404, 'not_found'],
    [409, 'conflict'],
    [412, 'precondition_failed'],
    [415, 'unsupported_media_type'],
    [418, 'bad_request'],
    [422, 'unprocessable'],
    [429, 'too_many_requests'],
  ])('with the status %i has the code %s', async (status, code) => {
    const response = await (await failing())(status);
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-type']).toContain('application/problem+json');
    expect(response.json()).toMatchObject({ status, code, detail: 'the plugin said no' });
  });

  test('with the status 503 keeps it, without its message', async () => {
    const response = await (await failing())(503);
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ code: 'service_unavailable', detail: 'the service is not available; retry shortly' });
    expect(response.headers['retry-after']).toBe('10');
  });

  test('keeps its headers', async () => {
    const fail = await failing();
    expect((await fail(429)).headers['retry-after']).toBe('60');
    expect((await fail(401)).headers['www-authenticate']).toBe('Basic realm="office"');
  });
});

test('@fastify/swagger shows routes of the API, and neither fallback routes nor pages', async () => {
  app = Fastify();
  await app.register(swagger, { openapi: { info: { title: 'host', version: '1' } } });
  app.get('/own', async () => ({}));
  await app.register(declarest, { ...options(), prefix: '/v1' });
  await app.ready();
  const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, unknown>> };
  const shown = Object.entries(paths).map(([path, methods]) => `${Object.keys(methods).sort()} ${path}`);
  expect(shown.sort()).toEqual(['get /own', 'get,head /v1/note/{id}.json', 'get,post /v1/note.json']);
  // they still respond
  expect((await app.inject({ method: 'PUT', url: '/v1/note.json' })).statusCode).toBe(405);
});

describe('settings of the whole server', () => {
  test('are reported if they have no effect', async () => {
    const { lines } = logged();
    await app.register(
      declarest,
      options({ server: { metrics: {}, health: { live: '/live' }, port: 4000, timing: false, body_limit: 1000 } }),
    );
    const [line] = lines.filter((text) => text.startsWith('no effect'));
    expect(line).toBe(
      'no effect on a server that Declarest did not create: server.metrics, server.health, server.port; set this up on your Fastify server, or use createServer()',
    );
    expect((await app.inject('/metrics')).statusCode).toBe(404);
  });

  test('are not reported if they are not declared', async () => {
    const { lines } = logged();
    await app.register(declarest, options({ server: { metrics: null, base_url: '/x' } }));
    expect(lines.filter((text) => text.startsWith('no effect'))).toEqual([]);
  });

  test('limit URLs and parameters as on our own server', async () => {
    app = Fastify();
    app.get('/own', async () => ({ own: true }));
    await app.register(declarest, options({ server: { max_parameters: 2, parameter_limit: 20, url_limit: 60 } }));
    const codeOf = async (url: string) => (await app.inject(url)).json().code;
    expect(await codeOf('/note.json?a=1&b=2&c=3')).toBe('too_many_parameters');
    expect(await codeOf(`/note.json?page=${'1'.repeat(30)}`)).toBe('parameter_too_long');
    expect(await codeOf(`/note/${'1'.repeat(80)}.json`)).toBe('url_too_long');
    expect((await app.inject('/own?a=1&b=2&c=3')).json()).toEqual({ own: true });
  });
});

test('two mounts on one server have their own documents, docs pages and databases', async () => {
  app = Fastify();
  await app.register(declarest, { ...options(), prefix: '/one' });
  await app.register(declarest, { ...options(), prefix: '/two' });
  const made = await app.inject({ method: 'POST', url: '/one/note.json', payload: { title: 'only here' } });
  expect(made.statusCode).toBe(201);
  expect((await app.inject('/one/note.json')).json().count).toBe(1);
  expect((await app.inject('/two/note.json')).json().count).toBe(0);
  for (const prefix of ['/one', '/two']) {
    expect((await app.inject(`${prefix}/openapi.json`)).json().servers).toEqual([{ url: prefix }]);
    expect((await app.inject(`${prefix}/docs`)).statusCode).toBe(200);
  }
});

test('lists are filtered if the host has a query parser that makes objects', async () => {
  const querystringParser = (text: string) => {
    const nested: Record<string, Record<string, string> | string> = {};
    for (const [name, value] of new URLSearchParams(text)) {
      const [, field, operator] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
      if (field && operator) nested[field] = { [operator]: value };
      else nested[name] = value;
    }
    return nested;
  };
  app = Fastify({ routerOptions: { querystringParser } });
  app.get('/host', async ({ query }) => query);
  const actions = { _index: { methods: { GET: true, POST: true } } };
  const note = { class: 'Note', base_path: '/note', filters: { title: ['eq', 'in'] }, actions };
  await app.register(declarest, options({ apis: { note } }));
  for (const title of ['one', 'two', 'three']) await app.inject({ method: 'POST', url: '/note.json', payload: { title } });
  const listed = await app.inject('/note.json?title[in]=one,two');
  expect([listed.statusCode, listed.json().count]).toEqual([200, 2]);
  expect((await app.inject('/note.json?title%5Bin%5D=one&title%5Bin%5D=three')).json().count).toBe(2);
  const twice = await app.inject('/note.json?title[eq]=one&title=two');
  expect([twice.statusCode, twice.json().detail]).toEqual([
    400,
    'the query parameter "title" must be given once; "title[eq]" means the same',
  ]);
  expect((await app.inject('/host?a[b]=c')).json()).toEqual({ a: { b: 'c' } });
});

test('decorators of the host do not replace the user and the parameters of a request', async () => {
  const seen: unknown[] = [];
  class SeeingController extends ApiController {
    override customizeQuery(_action: string, { parameters, user }: ApiRequest): void {
      seen.push(user?.id, { ...parameters });
    }
  }
  app = Fastify();
  app.decorateRequest('user', { getter: () => ({ host: true }) });
  app.decorateRequest('parameters', 'of the host');
  app.get('/host', async (request) => {
    const { parameters, user } = request as unknown as Record<string, unknown>;
    return { parameters, user };
  });
  const _index = { parameters: { season: { type: 'integer' } } };
  const note = { class: 'Note', base_path: '/note', controller: SeeingController, actions: { _index } };
  await app.register(declarest, { ...options({ apis: { note } }), controllers: [SeeingController] });
  const headers = { 'x-api-key': 'a-key-that-only-robots-know-0123456789' };
  expect((await app.inject({ url: '/note.json?season=7', headers })).statusCode).toBe(200);
  expect(seen).toEqual(['robot', { season: 7 }]);
  expect((await app.inject('/host')).json()).toEqual({ user: { host: true }, parameters: 'of the host' });
});
