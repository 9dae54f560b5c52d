import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { defineEntity, p } from '@mikro-orm/core';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CodeOptions, createServer } from '../../src/index.ts';
import { compressResponses } from '../../src/traffic/compression.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.text().groups('read', 'write'),
    version: p.integer().version(),
  },
});

const long = 'one line of a long text. '.repeat(100);
/** Beyond what the compressing plugin compresses at once. */
const veryLong = long.repeat(400);

const get = { GET: true, HEAD: true };
const options = (compress: unknown): CodeOptions => ({
  app_main: {
    database: { url: 'sqlite::memory:' },
    server: { compress } as NonNullable<CodeOptions['app_main']['server']>,
    apis: {
      page: {
        class: Page,
        base_path: '/page',
        formats: ['json', 'csv', 'ndjson'],
        actions: { _index: { methods: { ...get, POST: true } }, _entity: { methods: { ...get, PATCH: true } } },
      },
    },
  },
  models: [Page],
  seed: (em) => {
    for (const text of [long, 'short', veryLong]) em.create(Page, { text });
    for (let i = 0; i < 300; i++) em.create(Page, { text: randomBytes(1500).toString('hex') });
  },
});

interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
  /** Sizes of the parts in which the body came. */
  readonly parts: readonly number[];
}

function send({ url }: TestApplication, method: string, path: string, headers: object = {}, body?: string): Promise<Received> {
  return new Promise((resolve, reject) => {
    httpRequest(`${url}${path}`, { method, headers: { ...headers }, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          bytes: Buffer.concat(parts),
          parts: parts.map(({ length }) => length),
        }),
      );
    })
      .on('error', reject)
      .end(body);
  });
}

const gzip = { 'accept-encoding': 'gzip' };

describe('server.compress', () => {
  let app: TestApplication;
  beforeAll(async () => {
    app = await startApplication(options(true));
  });
  afterAll(() => app.close());

  test('compresses in the best encoding that the client accepts', async () => {
    const plain = await send(app, 'GET', '/page/1.json');
    expect(plain.headers['content-encoding']).toBeUndefined();
    const zipped = await send(app, 'GET', '/page/1.json', gzip);
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-length': String(zipped.bytes.length) });
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 10);
    expect(gunzipSync(zipped.bytes)).toEqual(plain.bytes);
    const brotli = await send(app, 'GET', '/page/1.json', { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(brotli.bytes)).toEqual(plain.bytes);
    for (const accepted of ['identity', 'gzip;q=0', 'zstd'])
      expect((await send(app, 'GET', '/page/1.json', { 'accept-encoding': accepted })).bytes).toEqual(plain.bytes);
  });

  test('leaves small responses alone', async () => {
    const small = await send(app, 'GET', '/page/2.json', gzip);
    expect(small.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(small.bytes.toString())).toMatchObject({ text: 'short' });
  });

  test('every response varies on Accept-Encoding, whatever its encoding', async () => {
    const vary = expect.stringMatching(/^Authorization, Accept-Encoding$/i);
    const { etag } = (await send(app, 'GET', '/page/1.json')).headers;
    for (const [path, headers] of [
      ['/page/1.json', {}],
      ['/page/1.json', gzip],
      ['/page/2.json', gzip],
      ['/page/1.json', { ...gzip, 'if-none-match': etag }],
      ['/page/99.json', gzip],
      ['/page.csv', gzip],
    ] as const)
      expect((await send(app, 'GET', path, headers)).headers.vary, path).toEqual(vary);
  });

  test('a compressed response has its own strong ETag, which If-None-Match and If-Match accept', async () => {
    const plain = (await send(app, 'GET', '/page/1.json')).headers.etag as string;
    const { etag } = (await send(app, 'GET', '/page/1.json', gzip)).headers;
    expect(plain).toMatch(/^"[^"]+"$/);
    expect(etag).toBe(`${plain.slice(0, -1)}-gzip"`);
    for (const known of [etag, plain, `"other", ${etag}`]) {
      const unchanged = await send(app, 'GET', '/page/1.json', { ...gzip, 'if-none-match': known });
      expect(unchanged).toMatchObject({ status: 304, headers: { etag: known === plain ? plain : etag } });
      expect(unchanged.headers['content-encoding']).toBeUndefined();
      expect(unchanged.bytes.length).toBe(0);
    }
    const type = { 'content-type': 'application/json' };
    const patch = (tag: string, text: string) =>
      send(app, 'PATCH', '/page/1.json', { ...gzip, ...type, 'if-match': tag }, JSON.stringify({ text }));
    const changed = await patch(etag as string, `${long} changed`);
    expect(changed).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
    const next = changed.headers.etag as string;
    expect(next).toMatch(/-gzip"$/);
    expect((await patch(etag as string, 'late')).status).toBe(412);
    expect((await send(app, 'GET', '/page/1.json', { ...gzip, 'if-none-match': etag })).status).toBe(200);
    expect((await patch(next, long)).status).toBe(200);
  });

  test('a list keeps its weak ETag', async () => {
    const list = await send(app, 'GET', '/page.json', gzip);
    expect(list.headers).toMatchObject({ 'content-encoding': 'gzip', etag: expect.stringMatching(/^W\/"[0-9a-f]+"$/) });
    const known = { ...gzip, 'if-none-match': list.headers.etag };
    expect((await send(app, 'GET', '/page.json', known)).status).toBe(304);
  });

  test.each(['/page/1.json', '/page/2.json', '/page/3.json'])('HEAD %s has the headers of GET, and no body', async (path) => {
    const read = await send(app, 'GET', path, gzip);
    const head = await send(app, 'HEAD', path, gzip);
    expect(head.bytes.length).toBe(0);
    expect(head.status).toBe(200);
    for (const name of ['etag', 'vary', 'content-encoding', 'content-type'])
      expect(head.headers[name], name).toBe(read.headers[name]);
  });

  test.each(['csv', 'ndjson'])('streams an export in %s, and compresses it on the way', async (format) => {
    const plain = await send(app, 'GET', `/page.${format}`);
    const zipped = await send(app, 'GET', `/page.${format}`, gzip);
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' });
    expect(gunzipSync(zipped.bytes)).toEqual(plain.bytes);
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 1.5);
    // if it was buffered, it would come as one part
    expect(zipped.parts.length).toBeGreaterThan(3);
  });

  test('does not decompress requests', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const { status } = await send(app, 'POST', '/page.json', headers, '{"text":"x"}');
    expect(status).not.toBe(500);
    expect(status).not.toBe(201);
  });
});

test('{ threshold, encodings } changes what is compressed', async () => {
  const app = await startApplication(options({ threshold: 10, encodings: ['gzip'] }));
  const { headers } = await send(app, 'GET', '/page/2.json', { 'accept-encoding': 'br, gzip' });
  expect(headers['content-encoding']).toBe('gzip');
  await app.close();
});

test('responses are not compressed by default', async () => {
  const app = await startApplication(options(false));
  const { headers } = await send(app, 'GET', '/page/1.json', gzip);
  expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'Authorization']);
  await app.close();
});

test.each([
  ['yes', 'must be true or false or a mapping; given: "yes"'],
  [{ encodings: ['lz4'] }, 'must be one of: br, gzip, deflate, zstd'],
  [{ encodings: [] }, 'must have at least one entry'],
])('compress: %j is a start error', async (compress, message) => {
  await expect(createServer(options(compress))).rejects.toThrow(message);
});

test('a missing package is a start error with the remedy', async () => {
  const declared = { threshold: 1024, encodings: ['gzip'] } as const;
  await expect(compressResponses(Fastify(), declared, ['/nowhere/package.json'])).rejects.toThrow(
    'app_main.server.compress needs the package @fastify/compress; run "npm install @fastify/compress", or remove the key',
  );
});
