import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declarest } from '../../src/index.ts';
import { freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { rawConnection, thingOptions, until } from './things.ts';

const json = 'Content-Type: application/json';
const body = '{"name":"x"}';
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** Requests that a proxy could understand otherwise, or that Node would reject by itself. */
const rejected: readonly (readonly [string, number, string])[] = [
  ['bytes that are no HTTP', 400, 'nonsense\r\n\r\n'],
  ['an unknown version', 400, 'GET /thing.json HTTP/9.9\r\nHost: x\r\n\r\n'],
  ['no Host', 400, 'GET /thing.json HTTP/1.1\r\n\r\n'],
  ['two Hosts', 400, 'GET /thing.json HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['the same Host twice', 400, 'GET /thing.json HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['an unknown Expect', 417, 'GET /thing.json HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n'],
  ['headers that are too large', 431, `GET /thing.json HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(20_000)}\r\n\r\n`],
  [
    'another coding before chunked',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${chunked}`,
  ],
  [
    'two Transfer-Encodings',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
  ],
  [
    'chunked twice',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked, chunked\r\n\r\n${chunked}`,
  ],
  [
    'chunked before another coding',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked, gzip\r\n\r\n${chunked}`,
  ],
  ['an unknown coding', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: identity\r\n\r\n${chunked}`],
  [
    'Transfer-Encoding in HTTP/1.0',
    400,
    `POST /thing.json HTTP/1.0\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
  ],
  [
    'Content-Length and Transfer-Encoding',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
  ],
  [
    'Transfer-Encoding and Content-Length',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${chunked}`,
  ],
  [
    'two lengths',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: 12\r\nContent-Length: 13\r\n\r\n${body}`,
  ],
  ['two lengths in one', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: 12, 12\r\n\r\n${body}`],
  ['a negative length', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: -1\r\n\r\n${body}`],
  ['a length with a sign', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: +12\r\n\r\n${body}`],
  ['a space before a colon', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length : 12\r\n\r\n${body}`],
  ['a folded header', 400, `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding:\r\n chunked\r\n\r\n${chunked}`],
  ['a line that ends in LF', 400, `GET /thing.json HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`],
  ['a line that ends in CR', 400, `GET /thing.json HTTP/1.1\r\nHost: x\rX-A: b\r\n\r\n`],
  ['a control character', 400, `GET /thing.json HTTP/1.1\r\nHost: x\r\nX-A: b\u0000c\r\n\r\n`],
  [
    'a bad chunk size',
    400,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n0xc\r\n${body}`,
  ],
  [
    'endless chunk extensions',
    413,
    `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\nc;${'a'.repeat(20_000)}\r\n${body}`,
  ],
];

describe('an invalid request', () => {
  let app: TestApplication;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const database = await freshDatabase('sqlite');
    drop = () => database.drop();
    app = await startApplication({ ...thingOptions({}, { formats: ['json', 'csv'] }), databaseUrl: database.url });
  });
  afterAll(async () => {
    await app.close();
    await drop();
  });

  test.each(rejected)(
    'with %s is rejected with %i as a problem document, and the connection is closed',
    async (_, status, sent) => {
      const raw = await rawConnection(app.url);
      raw.socket.write(`${sent}GET /thing/1.json HTTP/1.1\r\nHost: x\r\n\r\n`);
      await raw.closed;
      const [head = '', text = '', ...rest] = raw.received().split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).toMatch(/^content-type: application\/problem\+json; charset=utf-8$/im);
      expect(head).toMatch(/^x-content-type-options: nosniff$/im);
      expect(head).toMatch(/^connection: close$/im);
      expect(head).toMatch(/^x-request-id: \S+$/im);
      expect(JSON.parse(text)).toMatchObject({ status, code: 'bad_request' });
      expect(rest).toEqual([]);
    },
  );

  test('is not confused with an unusual but valid request', async () => {
    for (const sent of [
      `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: Chunked\r\n\r\n${chunked}`,
      `POST /thing.json HTTP/1.1\r\nHost: x\r\n${json}\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n${body}`,
      `POST /thing.json HTTP/1.0\r\n${json}\r\nContent-Length: 12\r\n\r\n${body}`,
    ]) {
      const raw = await rawConnection(app.url);
      raw.socket.write(sent);
      await until(() => /^HTTP\/1\.1 201 /m.test(raw.received()));
      raw.socket.destroy();
    }
  });

  test('does not corrupt the response before it', async () => {
    const raw = await rawConnection(app.url);
    raw.socket.write('GET /thing/1.json HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => raw.received().endsWith('}'));
    raw.socket.write('nonsense\r\n\r\n');
    await raw.closed;
    expect(raw.received()).toMatch(/^HTTP\/1\.1 200 .*\}HTTP\/1\.1 400 /s);
  });

  test.each([
    ['GET', '/thing.json', 200],
    ['HEAD', '/thing.json', 200],
    ['GET', '/thing.csv', 200],
    ['GET', '/thing/99.json', 404],
    ['GET', '/nothing', 404],
    ['GET', '/%zz', 404],
    ['PUT', '/thing.json', 405],
    ['POST', '/thing.json', 400],
    ['GET', '/health/live', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/docs', 200],
    ['GET', '/', 200],
    ['GET', `/${'x'.repeat(9000)}`, 414],
  ])('%s %s has X-Content-Type-Options: nosniff', async (method, path, status) => {
    const response = await fetch(app.url + path, { method });
    expect([response.status, response.headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
  });
});

test('an application on the Fastify server of a host sends the header with its own responses', async () => {
  const database = await freshDatabase('sqlite');
  const host = Fastify();
  host.get('/own', async () => 'own');
  await host.register(declarest, { ...thingOptions(), databaseUrl: database.url });
  const sniffing = async (url: string) => (await host.inject({ url })).headers['x-content-type-options'];
  expect(await sniffing('/thing.json')).toBe('nosniff');
  expect(await sniffing('/thing/99.json')).toBe('nosniff');
  expect(await sniffing('/own')).toBe(undefined);
  await host.close();
  await database.drop();
});
