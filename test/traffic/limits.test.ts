// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { closeGate, gate, rawConnection, thingOptions, until, withThings } from './things.ts';

function nested(depth: number): string {
  return `{"name":"x","data":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
}

const json = { 'content-type': 'application/json' };

describe.each(databases)('the limits of a request on %s', (database) => {
  test('each have their own error code', async () => {
    const server = { json_depth: 10, url_limit: 300, max_parameters: 3, parameter_limit: 40, body_limit: 500 };
    await withThings(database, thingOptions(server, { pagination: { max_offset: 100 } }), async ({ request }) => {
      const asked = async (method: string, path: string, body?: string) => {
        const answer = await request(method, path, body === undefined ? {} : { body, headers: json });
        return [answer.status, answer.json?.code];
      };
      expect(await asked('GET', '/thing.json?page=2&items_per_page=2')).toEqual([200, undefined]);
      expect(await asked('GET', `/thing.json?x=${'y'.repeat(300)}`)).toEqual([414, 'url_too_long']);
      expect(await asked('GET', `/thing.json?x=${'y'.repeat(50)}`)).toEqual([400, 'parameter_too_long']);
      expect(await asked('GET', '/thing.json?a&b&c&d')).toEqual([400, 'too_many_parameters']);
      expect(await asked('GET', '/thing.json?a&b&c')).toEqual([400, 'unknown_parameter']);
      expect(await asked('POST', '/thing.json', nested(10))).toEqual([201, undefined]);
      expect(await asked('POST', '/thing.json', nested(11))).toEqual([400, 'body_too_deep']);
      expect(await asked('POST', '/thing.json', `{"name":"${'[{'.repeat(30)}\\"${'[{'.repeat(30)}"}`)).toEqual([201, undefined]);
      expect(await asked('POST', '/thing.json', nested(400))).toEqual([413, 'body_too_large']);
      expect(await asked('GET', '/thing.json?page=51&items_per_page=2')).toEqual([200, undefined]);
      expect(await asked('GET', '/thing.json?page=52&items_per_page=2')).toEqual([400, 'offset_too_large']);
    });
  });

  test('next links are not limited by max_offset', async () => {
    await withThings(database, thingOptions({}, { pagination: { max_offset: 1 } }), async ({ request }) => {
      const first = await request('GET', '/thing.json?items_per_page=1');
      const second = await request('GET', first.json.pagination.next);
      const third = await request('GET', second.json.pagination.next);
      expect(third.json.results).toMatchObject([{ id: 3 }]);
      expect((await request('GET', '/thing.json?items_per_page=1&page=3')).json.code).toBe('offset_too_large');
    });
  });

  test('a request that takes too long times out, and its connection stays usable', async () => {
    await withThings(database, thingOptions({ handler_timeout: 1000 }), async ({ request, url }) => {
      const open = closeGate();
      const answer = await request('GET', '/slow/work.json');
      expect([answer.status, answer.json.code, answer.headers.get('retry-after')]).toEqual([503, 'handler_timeout', '1']);
      expect(answer.json.instance).toBe('/slow/work.json');
      const raw = await rawConnection(url);
      raw.socket.write('GET /slow/work.json HTTP/1.1\r\nHost: x\r\n\r\n');
      await until(() => raw.received().includes('handler_timeout'));
      open();
      raw.socket.write('GET /thing/1.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await raw.closed;
      expect(raw.received()).toMatch(/^HTTP\/1\.1 503 .*\r\n\r\n\{.*\}HTTP\/1\.1 200 OK/s);
    });
  });
});

describe('slow clients', () => {
  test('that send headers or bodies too late get an error and are closed, like idle connections', async () => {
    const server = { header_timeout: 300, request_timeout: 600, keep_alive_timeout: 200 };
    await withThings('sqlite', thingOptions(server), async ({ url }) => {
      const start = performance.now();
      const [headers, body, idle] = await Promise.all([rawConnection(url), rawConnection(url), rawConnection(url)]);
      headers.socket.write('GET /thing.json HTTP/1.1\r\nHost:');
      body.socket.write(
        'POST /thing.json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"na',
      );
      idle.socket.write('GET /thing/1.json HTTP/1.1\r\nHost: x\r\n\r\n');
      await Promise.all([headers.closed, body.closed, idle.closed]);
      expect(performance.now() - start).toBeLessThan(5000);
      expect(headers.received()).toMatch(/^HTTP\/1\.1 408 /);
      expect(body.received()).toMatch(/^HTTP\/1\.1 408 /);
      expect(idle.received()).toMatch(/^HTTP\/1\.1 200 /);
    });
  });

  test('with too large headers get 431', async () => {
    await withThings('sqlite', thingOptions({ header_limit: 2048 }), async ({ url }) => {
      const raw = await rawConnection(url);
      raw.socket.write(`GET /thing.json HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(3000)}\r\n\r\n`);
      await raw.closed;
      expect(raw.received()).toMatch(/^HTTP\/1\.1 431 /);
    });
  });
});

describe.each(databases)('a busy database on %s', (database) => {
  test('does not delay requests that do not need it: 404, 405, 401 and health', async () => {
    const more = {
      database: { pool: 1, connect_timeout: 5000 },
      security: { api_keys: { one: { key: 'a-key-that-nobody-knows', roles: ['ROLE_ONE'] } } },
    };
    const options = thingOptions({}, more);
    (options.app_main.apis as any).closed = {
      class: 'Thing',
      base_path: '/closed',
      base_role: 'ROLE_ONE',
      actions: { _index: null },
    };
    await withThings(database, options, async ({ request }) => {
      const open = closeGate();
      const held = request('GET', '/slow/hold.json');
      await until(() => gate.asked === 1);
      const start = performance.now();
      const answers = await Promise.all([
        request('GET', '/nothing.json'),
        request('PUT', '/thing.json'),
        request('GET', '/closed.json'),
        request('GET', '/thing.json', { headers: { authorization: 'Bearer wrong' } }),
        request('GET', '/health/live'),
        request('GET', '/health/ready'),
      ]);
      const took = performance.now() - start;
      open();
      expect(answers.map(({ status }) => status)).toEqual([404, 405, 401, 401, 200, 200]);
      expect(took).toBeLessThan(2000);
      expect((await held).status).toBe(200);
    });
  });
});
