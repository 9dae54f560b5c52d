import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange } from '../../src/inspect/suite/http-exchange.ts';

const shown = '\u{feff}{"name":"é"}';
const codings = { gzip: gzipSync(shown), deflate: deflateSync(shown), br: brotliCompressSync(shown), plain: Buffer.from(shown) };

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const [, kind = '', name = ''] = /^\/(\w+)\/?(\w*)/.exec(request.url ?? '') ?? [];
    if (kind === 'coding') {
      const body = codings[name as keyof typeof codings];
      response.writeHead(200, name === 'plain' ? {} : { 'content-encoding': name }).end(body);
    } else if (kind === 'moved') {
      response.writeHead(Number(name), { location: '../echo' }).end();
    } else if (kind === 'loop') {
      response.writeHead(302, { location: '/loop' }).end();
    } else if (kind === 'broken') {
      response.writeHead(200, { 'content-length': 10 }).write('half');
      setImmediate(() => request.socket.destroy());
    } else {
      const { connection, host, ...headers } = request.headers;
      response.writeHead(kind === 'nothing' ? 204 : 201, { 'set-cookie': ['a=1', 'b=2'], 'x-some': ['1', '2'] });
      response.end(JSON.stringify({ method: request.method, url: request.url, headers, body: await text(request) }));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

type Sent = readonly [path: string, method: string, headers: Record<string, string>, body: string | Uint8Array | null];

/** A response without what differs from one connection to the next. Texts of the server are parsed: the order of headers is free. */
function stable({ headers, status, text: received }: { headers: Headers; status: number; text: string }) {
  const changing = ['connection', 'date', 'keep-alive'];
  const kept = [...headers].filter(([name]) => !changing.includes(name));
  return { status, headers: kept, received: received.startsWith('{"method"') ? JSON.parse(received) : received };
}

async function fetched(...[path, method, headers, body]: Sent) {
  const response = await fetch(url + path, { method, headers, body: body as string | null });
  return stable({ status: response.status, headers: response.headers, text: await response.text() });
}

async function exchanged(...[path, method, headers, body]: Sent) {
  return stable(await exchange(new URL(url + path), method, headers, body));
}

describe('a request of a test', () => {
  test.each<[string, string, string, Record<string, string>?, (string | Uint8Array)?]>([
    ['a read', 'GET', '/echo?a=b c&d=é#part'],
    ['a path with dots', 'GET', '/echo/../echo/./%2e%2e/x'],
    ['only the head', 'HEAD', '/echo'],
    ['no content', 'DELETE', '/nothing'],
    ['a text', 'POST', '/echo', {}, 'ü'],
    ['bytes', 'PUT', '/echo', {}, new Uint8Array([1, 2])],
    ['an empty body', 'PATCH', '/echo', {}, ''],
    ['no body', 'POST', '/echo'],
    ['DELETE with a body', 'DELETE', '/echo', { 'Content-Type': 'application/json' }, '{}'],
    ['headers of the caller', 'GET', '/echo', { Accept: 'text/csv', 'X-One': ' a ', 'x-one': 'b', 'user-agent': 'me' }],
    ...Object.keys(codings).map((name): [string, string, string] => [`content coding ${name}`, 'GET', `/coding/${name}`]),
    ['a coding without content', 'HEAD', '/coding/gzip'],
    ...['301', '302', '303', '307', '308'].flatMap((status): [string, string, string, Record<string, string>, string?][] => [
      [`a redirect with ${status}`, 'GET', `/moved/${status}`, { 'x-one': 'a' }],
      [`a redirected POST with ${status}`, 'POST', `/moved/${status}`, { 'Content-Type': 'text/csv' }, 'a'],
      [`a redirected change with ${status}`, 'PUT', `/moved/${status}`, { 'content-type': 'text/csv' }, 'a'],
    ]),
  ])('has the same effect as with fetch: %s', async (_, method, path, headers = {}, body) => {
    const given = body ?? null;
    expect(await exchanged(path, method, headers, given)).toEqual(await fetched(path, method, headers, given));
  });

  test('is rejected if the connection breaks, or redirects do not end', async () => {
    await expect(exchanged('/broken', 'GET', {}, null)).rejects.toThrow();
    await expect(exchanged('/loop', 'GET', {}, null)).rejects.toThrow('too many redirects');
    await expect(exchange(new URL('http://127.0.0.1:1/'), 'GET', {}, null)).rejects.toThrow('ECONNREFUSED');
  });
});
