// @module-tag divided
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { startWaiting } from '../../src/cli/waiting-server.ts';
import { RequestIds } from '../../src/traffic/request-id.ts';
import { databases } from '../support/databases.ts';
import { closeGate, gate, rawConnection, thingOptions, until, withThings } from './things.ts';

const made = /^[0-9a-f]{16}-[0-9a-f]{8}$/;
const options = thingOptions({ max_concurrent: 2, handler_timeout: 1500, url_limit: 200 }, { formats: ['json', 'csv'] });

describe.each(databases)('the request ID on %s', (database) => {
  test('is in every response: the received ID or a new one', async () => {
    await withThings(database, options, async ({ request, url }) => {
      const asks: [string, string, number, RequestInit?][] = [
        ['GET', '/thing/1.json', 200],
        ['HEAD', '/thing/1.json', 200],
        ['GET', '/thing.json', 200],
        ['GET', '/thing.csv', 200],
        ['POST', '/thing.json', 201, { body: '{"name":"new"}', headers: { 'content-type': 'application/json' } }],
        ['POST', '/thing.json', 400, { body: '{', headers: { 'content-type': 'application/json' } }],
        ['POST', '/thing.json', 415, { body: 'x', headers: { 'content-type': 'text/plain' } }],
        ['GET', '/thing/999.json', 404],
        ['GET', '/nowhere', 404],
        ['GET', '/thing/%zz.json', 404],
        ['DELETE', '/thing.json', 405],
        ['GET', '/thing/1.json', 401, { headers: { authorization: 'Bearer wrong' } }],
        ['GET', `/thing.json?q=${'x'.repeat(200)}`, 414],
        ['GET', '/health/live', 200],
        ['GET', '/health/ready', 200],
      ];
      const seen = new Set<string>();
      for (const [method, path, status, more] of asks) {
        const answer = await fetch(`${url}${path}`, { method, ...more });
        await answer.text();
        const id = answer.headers.get('x-request-id') ?? '';
        expect([method, path, answer.status, id]).toEqual([method, path, status, expect.stringMatching(made)]);
        seen.add(id);
        const own = { ...more, headers: { ...more?.headers, 'X-Request-ID': `Own:${seen.size}/a.b_c~d+e=@` } };
        const again = await fetch(`${url}${path}`, { method, ...own });
        await again.text();
        expect([path, again.headers.get('x-request-id')]).toEqual([path, `Own:${seen.size}/a.b_c~d+e=@`]);
      }
      expect(seen.size).toBe(asks.length);

      // what is turned away, and what takes too long
      const open = closeGate();
      const late = [1, 2].map((n) => request('GET', '/slow/work.json', { headers: { 'x-request-id': `late-${n}` } }));
      await until(() => gate.asked === 2);
      const shed = await request('GET', '/thing/1.json', { headers: { 'x-request-id': 'shed' } });
      expect([shed.status, shed.headers.get('x-request-id')]).toEqual([503, 'shed']);
      expect((await request('GET', '/thing/1.json')).headers.get('x-request-id')).toMatch(made);
      const answers = await Promise.all(late);
      expect(answers.map(({ status, headers }) => [status, headers.get('x-request-id')])).toEqual([
        [503, 'late-1'],
        [503, 'late-2'],
      ]);
      open();

      // what is no request
      const { socket, received, closed } = await rawConnection(url);
      socket.write('nonsense\r\n\r\n');
      await closed;
      expect(received()).toMatch(/^HTTP\/1\.1 400 .*\r\nx-request-id: [0-9a-f]{16}-[0-9a-f]{8}\r\n/s);
    });
  });
});

test('a request ID that is too long or has special characters is replaced', async () => {
  await withThings('sqlite', options, async ({ url }) => {
    const ask = async (...values: string[]) => {
      const { socket, received, closed } = await rawConnection(url);
      const lines = values.map((value) => `X-Request-Id: ${value}\r\n`).join('');
      socket.write(`GET /thing/1.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`);
      await closed;
      return /^x-request-id: (.*)\r$/im.exec(received())?.[1];
    };
    expect(await ask('x'.repeat(128))).toBe('x'.repeat(128));
    for (const value of ['x'.repeat(129), '', 'a b', 'a"b', '<b>', '{}', 'a\\n', 'a,b', "a'", 'ä', '%0a', 'a;b']) {
      expect([value, await ask(value)]).toEqual([value, expect.stringMatching(made)]);
    }
    expect(await ask('one', 'two')).toMatch(made);
  });
});

test('the request ID header is the declared one, or not sent', async () => {
  await withThings('sqlite', thingOptions({ request_id: 'Correlation-Id' }), async ({ request }) => {
    const { headers } = await request('GET', '/thing/1.json', { headers: { 'correlation-id': 'c', 'x-request-id': 'x' } });
    expect([headers.get('correlation-id'), headers.get('x-request-id')]).toEqual(['c', null]);
  });
  await withThings('sqlite', thingOptions({ request_id: null }), async ({ request }) => {
    const { headers } = await request('GET', '/thing/1.json', { headers: { 'x-request-id': 'x' } });
    expect(headers.get('x-request-id')).toBeNull();
  });
});

test('a header with another meaning cannot be the request ID header', async () => {
  for (const header of ['Authorization', 'cookie', 'X-Api-Key', 'Content-Type', 'a b', '']) {
    await expect(loadApplication(thingOptions({ request_id: header }))).rejects.toThrow(
      /"request_id" must be the name of a header/,
    );
  }
});

test('the request ID is also sent while the server waits for the database', async () => {
  const { declaration } = await loadApplication(thingOptions());
  const waiting = await startWaiting(declaration.server, { host: '127.0.0.1', port: 0 });
  try {
    for (const path of ['/thing/1.json', '/health/live', '/health/ready']) {
      const address = `http://127.0.0.1:${waiting.address.port}${path}`;
      expect((await fetch(address, { headers: { 'x-request-id': 'mine' } })).headers.get('x-request-id')).toBe('mine');
      expect((await fetch(address)).headers.get('x-request-id')).toMatch(made);
    }
  } finally {
    await waiting.close();
  }
});

test('request IDs are unique, within one process and across processes', () => {
  const one = new RequestIds('x-request-id');
  const other = new RequestIds('x-request-id');
  const ids = new Set(Array.from({ length: 100_000 }, (_, i) => (i % 2 ? one : other).next()));
  expect(ids.size).toBe(100_000);
});
