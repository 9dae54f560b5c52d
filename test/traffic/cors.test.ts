import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { createServer } from '../../src/index.ts';
import type { TestApplication } from '../support/testing.ts';
import { type AppMain, closeGate, gate, rawConnection, thingOptions, until, withThings } from './things.ts';

const page = 'https://app.example.org';
const other = 'https://evil.example.org';
const cors = { origins: [page, 'http://localhost:5173'] };

type Sent = Readonly<Record<string, string>>;

/** Not `fetch`, which does not send all of these headers. */
function send(
  { url }: TestApplication,
  method: string,
  path: string,
  headers: Sent = {},
  body?: string,
): Promise<{ status: number; headers: Record<string, string | undefined>; body: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers as Record<string, string>, body: text }),
      );
    })
      .on('error', reject)
      .end(body);
  });
}

const preflight = (origin: string, method = 'PATCH', headers = 'authorization,if-match') => ({
  origin,
  'access-control-request-method': method,
  'access-control-request-headers': headers,
});

const corsHeaders = (headers: object) => Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const serve = (server: AppMain['server'], use: (app: TestApplication) => Promise<void>, more: Partial<AppMain> = {}) =>
  withThings('sqlite', thingOptions(server, more), use);

test('without server.cors, no response has CORS headers, and a preflight request gets 405', async () => {
  await serve({}, async (app) => {
    const asked = await send(app, 'OPTIONS', '/thing/1.json', preflight(page));
    expect(asked.status).toBe(405);
    const read = await send(app, 'GET', '/thing/1.json', { origin: page });
    expect(read.status).toBe(200);
    expect([...corsHeaders(asked.headers), ...corsHeaders(read.headers)]).toEqual([]);
  });
});

test('a preflight request of an allowed origin gets 204 with what the application accepts', async () => {
  const security = { api_keys: { reports: { key: 'a-key-long-enough-for-this', roles: [] } } };
  const api = { class: 'Thing', base_path: '/closed', base_role: 'ROLE_USER', actions: { _index: {} } } as const;
  const options = thingOptions({ cors: { ...cors, allow_headers: ['X-Session'] }, rate_limit: { limit: 1 } }, { security });
  const apis = { ...options.app_main.apis, closed: api };
  await withThings('sqlite', { ...options, app_main: { ...options.app_main, apis } as AppMain }, async (app) => {
    // before authentication, rate limits and routing
    for (const path of ['/thing/1.json', '/closed.json', '/closed.json', '/nothing', '/health/ready', '/openapi.json']) {
      const { status, headers, body } = await send(app, 'OPTIONS', path, {
        ...preflight(page),
        authorization: 'Bearer wrong',
      });
      expect({ status, body }, path).toEqual({ status: 204, body: '' });
      expect(headers, path).toMatchObject({
        'access-control-allow-origin': page,
        'access-control-allow-methods': 'GET, HEAD, POST, PATCH',
        'access-control-allow-headers':
          'Authorization, X-Api-Key, If-None-Match, Content-Type, If-Match, Idempotency-Key, X-Request-Id, X-Session',
        'access-control-max-age': '600',
        vary: 'Origin',
        'x-content-type-options': 'nosniff',
      });
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  });
});

test('only declared methods and headers are listed', async () => {
  const { app_main, ...rest } = thingOptions(
    { cors: { ...cors, max_age: 0 }, idempotency: null, request_id: null },
    { security: { jwt: null } },
  );
  const apis = { thing: { class: 'Thing', base_path: '/thing', actions: { _index: {} } } };
  await withThings('sqlite', { ...rest, app_main: { ...app_main, apis } as AppMain }, async (app) => {
    expect((await send(app, 'OPTIONS', '/thing.json', preflight(page))).headers).toMatchObject({
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'If-None-Match',
      'access-control-max-age': '0',
    });
  });
});

test('other origins get no CORS headers, and their preflight requests get 405', async () => {
  await serve({ cors }, async (app) => {
    for (const origin of [other, 'null', `${page}.evil.org`, 'http://app.example.org', `${page}:8443`, page.toUpperCase(), '*']) {
      const asked = await send(app, 'OPTIONS', '/thing/1.json', preflight(origin));
      const read = await send(app, 'GET', '/thing/1.json', { origin });
      expect([asked.status, read.status], origin).toEqual([405, 200]);
      expect([...corsHeaders(asked.headers), ...corsHeaders(read.headers)], origin).toEqual([]);
      expect([asked.headers.vary, read.headers.vary]).toEqual(['Origin', 'Origin, Authorization']);
    }
    // not a preflight request
    expect((await send(app, 'OPTIONS', '/thing/1.json', { origin: page })).status).toBe(405);
    const empty = await send(app, 'OPTIONS', '/thing/1.json', { origin: page, 'access-control-request-method': '' });
    expect(JSON.parse(empty.body)).toMatchObject({ code: 'method_not_allowed' });
    expect((await send(app, 'OPTIONS', '/thing/1.json')).status).toBe(405);
  });
});

test('responses to allowed origins have CORS headers, and all responses vary on Origin', async () => {
  await serve({ cors: { ...cors, expose_headers: ['X-Total'] } }, async (app) => {
    const read = await send(app, 'GET', '/thing/1.json', { origin: page });
    expect(read.headers).toMatchObject({ 'access-control-allow-origin': page, vary: 'Origin, Authorization' });
    const exposed = read.headers['access-control-expose-headers']?.split(', ');
    expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Location', 'Retry-After', 'RateLimit', 'X-Request-Id', 'X-Total']));
    const known = { origin: page, 'if-none-match': read.headers.etag as string };
    const unchanged = await send(app, 'GET', '/thing/1.json', known);
    expect(unchanged).toMatchObject({ status: 304, headers: { 'access-control-allow-origin': page } });
    expect(unchanged.headers.vary).toBe('Origin, Authorization');
    // without an origin: a cache must not keep this response for a page
    expect((await send(app, 'GET', '/thing/1.json')).headers.vary).toBe('Origin, Authorization');
    for (const path of ['/openapi.json', '/', '/docs', '/health/live'])
      expect((await send(app, 'GET', path, { origin: page })).headers, path).toMatchObject({
        'access-control-allow-origin': page,
        vary: expect.stringMatching(/\borigin\b/i),
      });
  });
});

test('errors have the headers too, so that pages can read them', async () => {
  const server = { cors, body_limit: 100, url_limit: 200, rate_limit: { limit: 6, by: 'address' } } as const;
  await serve(server, async (app) => {
    const sent = { origin: page, 'content-type': 'application/json' };
    const errors = [
      await send(app, 'GET', '/thing/1.json', { ...sent, authorization: 'Bearer wrong' }),
      await send(app, 'GET', '/thing/99.json', sent),
      await send(app, 'GET', '/nothing', sent),
      await send(app, 'GET', '/thing/%zz', sent),
      await send(app, 'PUT', '/thing/1.json', sent),
      await send(app, 'POST', '/thing.json', sent, JSON.stringify({ name: 'x'.repeat(200) })),
      await send(app, 'GET', `/thing.json?${'x'.repeat(300)}`, sent),
    ];
    expect(errors.map(({ status }) => status)).toEqual([401, 404, 404, 404, 405, 413, 414]);
    let limited = await send(app, 'GET', '/thing/1.json', sent);
    while (limited.status !== 429) limited = await send(app, 'GET', '/thing/1.json', sent);
    for (const { headers, status } of [...errors, limited]) {
      expect(headers['access-control-allow-origin'], String(status)).toBe(page);
      expect(headers['access-control-expose-headers'], String(status)).toContain('Retry-After');
      expect(headers.vary, String(status)).toMatch(/^Origin\b/);
    }
  });
});

test('an overloaded server answers preflight requests, and pages can read its 503 and its timeouts', async () => {
  await serve({ cors, max_concurrent: 1, handler_timeout: 1500 }, async (app) => {
    const open = closeGate();
    const running = [
      send(app, 'GET', '/slow/work.json', { origin: page }),
      send(app, 'GET', '/slow/work.json', { origin: page }),
    ];
    await until(() => gate.asked > 0);
    const asked = await send(app, 'OPTIONS', '/thing/1.json', preflight(page));
    expect(asked.status).toBe(204);
    for (const { headers, status } of await Promise.all(running)) {
      expect(status).toBe(503);
      expect(headers).toMatchObject({ 'access-control-allow-origin': page, vary: 'Origin' });
    }
    open();
  });
});

test('the origin "*" allows every page', async () => {
  await serve({ cors: { origins: '*' } }, async (app) => {
    const asked = await send(app, 'OPTIONS', '/thing/1.json', preflight(other));
    const read = await send(app, 'GET', '/thing/99.json', { origin: other });
    expect([asked.status, read.status]).toEqual([204, 404]);
    for (const { headers } of [asked, read]) expect(headers['access-control-allow-origin']).toBe('*');
    expect((await send(app, 'OPTIONS', '/thing/1.json', { origin: other })).status).toBe(405);
  });
});

test('credentials: true lets browsers send cookies', async () => {
  await serve({ cors: { ...cors, credentials: true } }, async (app) => {
    for (const [method, sent] of [
      ['OPTIONS', preflight(page)],
      ['GET', { origin: page }],
    ] as const) {
      const { headers } = await send(app, method, '/thing/1.json', sent);
      expect(headers).toMatchObject({ 'access-control-allow-origin': page, 'access-control-allow-credentials': 'true' });
    }
    const malformed = await rawConnection(app.url);
    malformed.socket.end(`GET /%zz HTTP/1.1\r\nHost: a\r\nOrigin: ${page}\r\nConnection: close\r\n\r\n`);
    await malformed.closed;
    expect(malformed.received().toLowerCase()).toContain('access-control-allow-credentials: true');
  });
});

test('origins can be a text with commas, and null allows none', async () => {
  await serve({ cors: { origins: ` ${page} , capacitor://localhost` } }, async (app) => {
    for (const origin of [page, 'capacitor://localhost'])
      expect((await send(app, 'GET', '/thing/1.json', { origin })).headers['access-control-allow-origin']).toBe(origin);
  });
  await serve({ cors: { origins: null } }, async (app) => {
    const { headers } = await send(app, 'GET', '/thing/1.json', { origin: page });
    expect([...corsHeaders(headers), headers.vary]).toEqual(['Authorization']);
  });
});

test.each([
  [{ origins: '*', credentials: true }, 'browsers reject cookies with the origin "*"; list the origins that may send cookies'],
  [{ origins: ['*', page] }, '"*" allows every origin; remove it, or the other origins'],
  [{ origins: [`${page}/`] }, 'must be an origin such as "https://app.example.org", without a path'],
  [{ origins: `${page}/` }, '"https://app.example.org/" is not an origin; write it such as'],
  [{ origins: [`${page}:443`] }, 'browsers send the origin "https://app.example.org:443" as "https://app.example.org"'],
  [{ origins: ['https://App.example.org'] }, 'as "https://app.example.org"; write it like that'],
  [{ origins: 'app.example.org' }, '"app.example.org" is not an origin'],
  [{}, 'the key "origins" is missing'],
  [{ origins: [] }, 'must have at least one entry'],
])('%j is a start error', async (declared, message) => {
  const options = thingOptions({ cors: declared } as AppMain['server'], { database: { url: 'sqlite::memory:' } });
  await expect(createServer(options)).rejects.toThrow(message);
});
