import net from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import type { RouteRecord } from '../../src/route/record.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { action, api, definition, records, route, serve } from './fixtures.ts';

const person = () =>
  api('person', [
    action('_index', { methods: ['GET', 'HEAD', 'POST'] }),
    action('_entity', { methods: ['GET', 'PATCH'] }),
    action('participants', { methods: ['POST', 'DELETE'] }),
    action('stats', { single: false, methods: ['GET'] }),
  ]);

let app: FastifyInstance | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function ask(mounted: readonly RouteRecord[], method: string, url: string, given?: Parameters<typeof serve>[1]) {
  app = await serve(mounted, given);
  const response = await app.inject({ method: method as 'GET', url });
  await app.close();
  return { status: response.statusCode, allow: response.headers.allow, body: method === 'HEAD' ? null : response.json() };
}

describe('a record responds', () => {
  test('at its path, with the id as its only param', async () => {
    expect(await ask(records([person()]), 'GET', '/api/person/12.json?page=1')).toMatchObject({
      status: 200,
      body: { name: 'app_api_single_person__entity', method: 'GET', format: 'json', params: { id: '12' } },
    });
  });

  test.each([
    ['GET', '/api/person.json', 'app_api_single_person__index', {}],
    ['POST', '/api/person/7/participants.json', 'app_api_single_person_participants', { id: '7' }],
    ['GET', '/api/person/stats.json', 'app_api_single_person_stats', {}],
  ])('%s %s', async (method, url, name, params) => {
    const { status, body } = await ask(records([person()]), method, url);
    expect(status).toBe(200);
    expect(body).toMatchObject({ name, params });
  });

  test('in each format', async () => {
    const mounted = records([person()], ['json', 'xml']);
    expect((await ask(mounted, 'GET', '/api/person/1.xml')).body).toMatchObject({ format: 'xml', params: { id: '1' } });
    expect((await ask(mounted, 'GET', '/api/person.json')).body).toMatchObject({ format: 'json' });
  });

  test('with the placeholders of its base path as params', async () => {
    const mounted = records([api('person', [action('_entity')], { basePath: '/api/{tenant}/person' })]);
    expect((await ask(mounted, 'GET', '/api/acme/person/1.json')).body).toMatchObject({ params: { tenant: 'acme', id: '1' } });
    expect(await ask(mounted, 'PUT', '/api/acme/person/1.json')).toMatchObject({ status: 405, allow: 'GET, HEAD' });
    expect(await ask(mounted, 'GET', '/api/acme/person/1.xml')).toMatchObject({ status: 404, body: { code: 'unknown_format' } });
  });

  test('if the base path ends in a placeholder', async () => {
    const mounted = records([api('person', [action('_index'), action('_entity')], { basePath: '/api/{kind}' })]);
    expect((await ask(mounted, 'GET', '/api/dogs.json')).body).toMatchObject({ params: { kind: 'dogs' } });
    expect((await ask(mounted, 'GET', '/api/dogs/1.json')).body).toMatchObject({ params: { kind: 'dogs', id: '1' } });
    expect(await ask(mounted, 'GET', '/api/dogs.xml')).toMatchObject({ status: 404, body: { code: 'unknown_format' } });
    expect(await ask(mounted, 'PUT', '/api/dogs.json')).toMatchObject({ status: 405 });
    expect(await ask(mounted, 'GET', '/api/dogs/x.json')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('if the requirement has capturing groups, classes with parentheses and alternatives', async () => {
    const mounted = records([
      api('person', [action('_entity', { requirements: { id: '(a|(?<x>b)[()/*:]+)|^c$' } }), action('join')], { basePath: '/p' }),
    ]);
    for (const [url, id] of [
      ['/p/a.json', 'a'],
      ['/p/b().json', 'b()'],
      ['/p/b%2F%3A*.json', 'b/:*'],
      ['/p/c.json', 'c'],
    ] as const) {
      expect((await ask(mounted, 'GET', url)).body).toMatchObject({ params: { id } });
    }
    expect((await ask(mounted, 'GET', '/p/b.json')).status).toBe(404);
    expect((await ask(mounted, 'GET', '/p/ab.json')).status).toBe(404);
  });

  test('to ids that contain dots, if the requirement allows them', async () => {
    const mounted = records([api('file', [action('_entity', { requirements: { id: '[a-z.]+' } })])]);
    expect((await ask(mounted, 'GET', '/api/file/a.b.json.json')).body).toMatchObject({ params: { id: 'a.b.json' } });
  });

  test('at paths with static characters that are special to the router', async () => {
    const mounted = records([api('person', [action('_index'), action('_entity')], { basePath: '/a:b/(c)/d+é' })]);
    expect((await ask(mounted, 'GET', '/a:b/(c)/d+%C3%A9.json')).status).toBe(200);
    expect((await ask(mounted, 'GET', '/a:b/(c)/d+%C3%A9/3.json')).body).toMatchObject({ params: { id: '3' } });
    expect((await ask(mounted, 'PUT', '/a:b/(c)/d+%C3%A9/3.json')).status).toBe(405);
  });

  test('under a prefix, with or without params of its own', async () => {
    for (const [prefix, base] of [
      ['/v1', '/v1'],
      ['/v1/', '/v1'],
      ['/v1/:realm', '/v1/x'],
    ] as const) {
      const mounted = records([person()]);
      expect((await ask(mounted, 'GET', `${base}/api/person/1.json`, { prefix })).body).toMatchObject({ params: { id: '1' } });
      expect(await ask(mounted, 'PUT', `${base}/api/person/1.json`, { prefix })).toMatchObject({
        status: 405,
        allow: 'GET, PATCH',
      });
      expect(await ask(mounted, 'GET', `${base}/api/person/1.xml`, { prefix })).toMatchObject({
        body: { code: 'unknown_format' },
      });
      expect(await ask(mounted, 'GET', `${base}/api/person/x.json`, { prefix })).toMatchObject({
        status: 404,
        body: { detail: `no route matches ${base}/api/person/x.json` },
      });
    }
  });

  test('even if an API with a more static base path has a fallback', async () => {
    const mounted = records([
      api('person', [action('_entity')]),
      api('any', [action('_entity', { requirements: { id: '[a-z]+' }, methods: ['GET', 'POST'] })], { basePath: '/api/{kind}' }),
    ]);
    app = await serve(mounted, { prefix: '/:realm' });
    const got = await app.inject({ method: 'POST', url: '/r/api/person/abc.json', payload: { a: 1 } });
    expect(got.json()).toEqual({
      name: 'app_api_single_any__entity',
      method: 'POST',
      format: 'json',
      params: { realm: 'r', kind: 'person', id: 'abc' },
      body: { a: 1 },
    });
    expect((await app.inject('/r/api/person/5.json')).json()).toMatchObject({ name: 'app_api_single_person__entity' });
  });

  test('static before dynamic, whatever the declaration order', async () => {
    const id = { id: '[a-z]+' };
    for (const actions of [
      [action('_entity', { requirements: id }), action('new', { single: false })],
      [action('new', { single: false }), action('_entity', { requirements: id })],
    ]) {
      expect((await ask(records([api('p', actions)]), 'GET', '/api/p/new.json')).body).toMatchObject({
        name: 'app_api_single_p_new',
      });
      expect((await ask(records([api('p', actions)]), 'GET', '/api/p/old.json')).body).toMatchObject({
        name: 'app_api_single_p__entity',
      });
    }
  });
});

test('a dynamic segment with a requirement matches before one without, in any declaration order', async () => {
  const made = [route('/{a}/x'), route('/{b}/{z}', ['GET'], { b: '\\d+' })];
  for (const mounted of [made, made.toReversed()]) {
    expect((await ask(mounted, 'GET', '/1/x')).body).toMatchObject({ name: '/{b}/{z}', params: { b: '1', z: 'x' } });
    expect((await ask(mounted, 'GET', '/c/x')).body).toMatchObject({ name: '/{a}/x', params: { a: 'c' } });
  }
});

const modes = [
  { as: 'the plugin', alone: false },
  { as: 'the standalone server', alone: true },
];

describe.each(modes)('disabled methods in $as', ({ alone }) => {
  const mode = { options: { alone } };
  test.each(['PUT', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'])('%s returns 405 with the allowed methods', async (method) => {
    const { status, allow, body } = await ask(records([person()]), method, '/api/person.json', mode);
    expect({ status, allow, code: body.code }).toEqual({ status: 405, allow: 'GET, HEAD, POST', code: 'method_not_allowed' });
    expect(body.detail).toBe(`${method} is not enabled on this path; use one of: GET, HEAD, POST`);
  });

  test('include HEAD if only GET is enabled, even if the host exposes HEAD routes', async () => {
    for (const exposeHeadRoutes of [true, false]) {
      const answer = await ask(records([person()]), 'HEAD', '/api/person/1.json', { ...mode, server: { exposeHeadRoutes } });
      expect(answer).toMatchObject({ status: 405, allow: 'GET, PATCH' });
    }
  });

  test('return 405 before the body is read', async () => {
    app = await serve(records([person()]), mode);
    const answer = await app.inject({
      method: 'PUT',
      url: '/api/person.json',
      headers: { 'content-type': 'image/png' },
      payload: 'not json',
    });
    expect(answer.statusCode).toBe(405);
  });

  test('include those that the host added with addHttpMethod: they return 405', async () => {
    app = await serve(records([person()]), { ...mode, before: (host) => host.addHttpMethod('MKCOL', { hasBody: true }) });
    expect((await app.inject({ method: 'MKCOL' as 'GET', url: '/api/person.json' })).statusCode).toBe(405);
  });

  test('return 405 with the methods of all records at the path', async () => {
    const mounted = [route('/x/{a}', ['GET'], { a: '\\d+' }), route('/x/{b}', ['POST'], { b: '\\w+' })];
    expect(await ask(mounted, 'PUT', '/x/1', mode)).toMatchObject({ status: 405, allow: 'GET, POST' });
    expect(await ask(mounted, 'PUT', '/x/a', mode)).toMatchObject({ status: 405, allow: 'POST' });
    expect(await ask(mounted, 'POST', '/x/1', mode)).toMatchObject({ status: 200 });
  });
});

describe.each(modes)('an unknown path in $as', ({ alone }) => {
  const mode = { options: { alone } };
  test.each([
    ['/api/person/1.xml', 'the path has an unknown format "xml"; end it in one of: .json'],
    ['/api/person.yaml', 'the path has an unknown format "yaml"; end it in one of: .json'],
    ['/api/person.json;a=1', 'the path has an unknown format "json;a=1"; end it in one of: .json'],
    ['/api/person/1', 'the path has no format; end it in one of: .json'],
    ['/api/person', 'the path has no format; end it in one of: .json'],
  ])('%s returns 404 with the known formats', async (url, detail) => {
    expect(await ask(records([person()]), 'GET', url, mode)).toMatchObject({
      status: 404,
      body: { code: 'unknown_format', detail },
    });
  });

  test.each([
    '/api/person/abc.json',
    '/api/person/1/nothing.json',
    '/api/person/',
    '/api/person.json/',
    '/api/person/1.json/',
    '/api/person//1.json',
    '/api/person/1%2F2.json',
    '/api/person/1%252e.json',
    '/api/person/1.JSON.json',
    '/api/person/%00.json',
    '/api/person/1%00.json',
    '/api/person/.json',
    `/api/person/${'1'.repeat(101)}.json`,
  ])('%s returns 404', async (url) => {
    const answer = await ask(records([person()]), 'GET', url, mode);
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('is left to the host if it only starts like an API path', async () => {
    const own = { before: (host: FastifyInstance) => void host.get('/api/:thing', async () => ({ own: true })) };
    expect(await ask(records([person()]), 'GET', '/api/personnel.json', own)).toMatchObject({ status: 200, body: { own: true } });
    const answer = await ask(records([person()]), 'GET', '/api/personnel.json', mode);
    const told = alone ? { code: 'not_found' } : { message: 'Route GET:/api/personnel.json not found' };
    expect(answer).toMatchObject({ status: 404, body: told });
  });

  test('returns 404 without echoing an endless path', async () => {
    const { body } = await ask(records([person()]), 'GET', `/api/person/${'x'.repeat(5000)}`, mode);
    expect(body.detail.length).toBeLessThan(250);
  });
});

describe('the router options of the host', () => {
  test('also apply to 404 and 405 responses', async () => {
    const server = {
      routerOptions: {
        caseSensitive: false,
        ignoreTrailingSlash: true,
        ignoreDuplicateSlashes: true,
        useSemicolonDelimiter: true,
      },
    };
    const mounted = records([person()]);
    for (const url of ['/API/Person.json', '/api/person.json/', '//api//person.json', '/api/person.json;x=1']) {
      expect((await ask(mounted, 'GET', url, { server })).status).toBe(200);
      expect(await ask(mounted, 'PUT', url, { server })).toMatchObject({ status: 405, allow: 'GET, HEAD, POST' });
      expect(await ask(mounted, 'PUT', `/v1${url}`, { server, prefix: '/v1' })).toMatchObject({ status: 405 });
    }
  });
});

test('a router that compiles its routes responds identically', async () => {
  const server = { routerOptions: { compile: true } };
  const mounted = records([person()], ['json', 'xml']);
  expect((await ask(mounted, 'GET', '/api/person/12.xml', { server })).body).toMatchObject({
    format: 'xml',
    params: { id: '12' },
  });
  expect(await ask(mounted, 'PUT', '/api/person/12.xml', { server })).toMatchObject({ status: 405, allow: 'GET, PATCH' });
  expect(await ask(mounted, 'GET', `/api/person/${'1.'.repeat(50_000)}json`, { server })).toMatchObject({ status: 404 });
});

describe('requirements that the router considers unsafe', () => {
  const nested = () => records([api('person', [action('_entity', { requirements: { id: '[a-z0-9]+(?:-[a-z0-9]+)*' } })])]);

  test('are rejected with the remedy', async () => {
    await expect(serve(nested())).rejects.toThrow(/app_api_single_person__entity.*routerOptions: \{ allowUnsafeRegex: true \}/s);
  });

  test('work with the remedy', async () => {
    const server = { routerOptions: { allowUnsafeRegex: true } };
    expect((await ask(nested(), 'GET', '/api/person/a-b-c.json', { server })).body).toMatchObject({ params: { id: 'a-b-c' } });
    expect((await ask(nested(), 'GET', '/api/person/a--c.json', { server })).status).toBe(404);
  });

  test('other errors of the host are passed on unchanged', async () => {
    const before = (host: FastifyInstance) => void host.get('/health', async () => 1);
    await expect(serve([route('/health')], { before })).rejects.toThrow("Method 'GET' already declared for route '/health'");
  });
});

describe('routes outside of any API', () => {
  test('are mounted unchanged, with the default format if the path has none', async () => {
    const mounted = [
      definition('/health'),
      definition('/reports/{year}.{_format}', { requirements: { year: '\\d{4}' } }),
      definition('/'),
    ];
    expect((await ask(mounted, 'GET', '/health')).body).toMatchObject({ format: 'json', params: {} });
    expect((await ask(mounted, 'GET', '/reports/2026.json')).body).toMatchObject({ format: 'json', params: { year: '2026' } });
    expect(await ask(mounted, 'GET', '/')).toMatchObject({ status: 200 });
    expect(await ask(mounted, 'POST', '/health')).toMatchObject({ status: 405, allow: 'GET' });
    expect(await ask(mounted, 'POST', '/reports/2026.json')).toMatchObject({ status: 405, allow: 'GET' });
    expect(await ask(mounted, 'POST', '/reports/x.json')).toMatchObject({ status: 404 });
  });

  test('leave other methods at the same path to the host', async () => {
    const before = (host: FastifyInstance) => void host.post('/health', async () => ({ own: true }));
    expect(await ask([definition('/health')], 'POST', '/health', { before })).toMatchObject({ status: 200, body: { own: true } });
    expect(await ask([definition('/health')], 'PUT', '/health', { before })).toMatchObject({ status: 405 });
  });

  test('may be at the base path of an API', async () => {
    const mounted = [...records([person()]), definition('/api/person'), definition('/api/person/export.csv')];
    expect(await ask(mounted, 'GET', '/api/person')).toMatchObject({ status: 200 });
    expect(await ask(mounted, 'PUT', '/api/person')).toMatchObject({ status: 405, allow: 'GET' });
    expect(await ask(mounted, 'PUT', '/api/person/export.csv')).toMatchObject({ status: 405, allow: 'GET' });
  });
});

describe('shared route options', () => {
  test('apply to routes and to 405 responses', async () => {
    const seen: string[] = [];
    const options = { route: { onRequest: async (request: { method: string }) => void seen.push(request.method) } };
    await ask(records([person()]), 'GET', '/api/person.json', { options });
    await ask(records([person()]), 'PUT', '/api/person.json', { options });
    expect(seen).toEqual(['GET', 'PUT']);
  });
});

test('two APIs may share a base path', async () => {
  const mounted = records([api('a', [action('_index')], { basePath: '/x' }), api('b', [action('_entity')], { basePath: '/x' })]);
  expect(await ask(mounted, 'PUT', '/x/1.json')).toMatchObject({ status: 405 });
});

describe('over a socket', () => {
  async function statusOf(port: number, requestLine: string): Promise<number> {
    const socket = net.connect(port, '127.0.0.1');
    socket.end(`${requestLine} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  }

  test('odd paths quickly get a status below 500', async () => {
    app = await serve(records([person()]), { server: { http: { maxHeaderSize: 1_000_000 } } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as net.AddressInfo;
    const answers: [string, number][] = [
      ['GET /api/person.json', 200],
      ['GET /api/person%2ejson', 200],
      ['GET /api/person/%31.json', 200],
      ['GET /api/person/1%2Ejson', 200],
      ['GET http://x/api/person/1.json', 200],
      ['PUT http://x/api/person/1.json', 405],
      ['PUT /api/person/%31%2ejson', 405],
      ['GET /api/person/%2531.json', 404],
      ['GET //api/person.json', 404],
      ['GET /api//person.json', 404],
      ['GET /api/person/../person.json', 404],
      ['GET /api/person.json/', 404],
      ['GET /api/person.json;x', 404],
      ['GET /API/person.json', 404],
      ['GET /api/person/%00.json', 404],
      ['GET /api/person/%2f1.json', 404],
      ['GET /api/person/%zz.json', 400],
      ['GET /api/person/%', 400],
      ['GET /api/person/%c3.json', 400],
      ['GET *', 404],
      [`GET /api/person/${'1.'.repeat(50_000)}json`, 404],
      [`PUT /api/person/${'1.'.repeat(50_000)}json`, 404],
    ];
    for (const [line, status] of answers)
      expect([line.slice(0, 60), await statusOf(port, line)]).toEqual([line.slice(0, 60), status]);
  });

  test('a path of 100,000 characters gets a fast response', async () => {
    app = await serve(records([person(), api('slow', [action('_entity', { requirements: { id: '\\d*\\d*' } })])]));
    await app.inject('/api/person/1.json');
    for (const base of ['/api/person/', '/api/slow/']) {
      for (const tail of ['1.'.repeat(50_000), '1'.repeat(100_000), '/'.repeat(100_000), '%31'.repeat(30_000)]) {
        const start = cpuTime();
        expect((await app.inject(`${base}${tail}`)).statusCode).toBe(404);
        expect(cpuTime() - start).toBeLessThan(2000);
      }
    }
  });
});
