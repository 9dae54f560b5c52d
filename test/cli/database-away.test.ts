import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../support/databases.ts';
import { smallApplication } from './applications.ts';
import { addressOf, run, start } from './spawned.ts';

/** Leads to a database from a port of its own, for as long as it is open. */
async function road(to: string, port = 0): Promise<{ port: number; close(): void }> {
  const { hostname, port: target } = new URL(to);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const other = connect(Number(target), hostname);
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', () => two.destroy());
    }
    socket.pipe(other).pipe(socket);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, close };
}

function throughRoad(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return through.href;
}

test('a server waits for an unreachable database: alive, not ready, 503, reconnects within 2 s', async () => {
  const database = await freshDatabase('postgresql');
  onTestFinished(() => database.drop());
  const { port, close } = await road(database.url);
  close();
  const config = `app_main: { database: { url: '${throughRoad(database.url, port)}', schema: update } }`;
  const server = start(['serve', smallApplication({ 'config/database.yaml': config }), '--port', '0']);
  const [, url] = await server.until(/waiting for it, and returning 503 on (\S+) until then/);
  const statusOf = async (path: string) => (await fetch(url + path, { headers: { connection: 'close' } })).status;
  const paths = ['/health/live', '/health/ready', '/api/person.json'];
  const statuses = () => Promise.all(paths.map(statusOf));
  expect(server.printed.err).toContain('cannot open the database postgresql://postgres@127.0.0.1:');
  expect(server.printed.out).toBe('');
  expect(await statuses()).toEqual([200, 503, 503]);

  let open = await road(database.url, port);
  expect(await addressOf(server)).toBe(url);
  expect(server.printed.err).toContain('created the database');
  expect(await statuses()).toEqual([200, 200, 200]);

  open.close();
  expect(await statusOf('/api/person.json')).toBe(503);
  // what was found out is good for half a second
  await sleep(600);
  expect(await statuses()).toEqual([200, 503, 503]);
  open = await road(database.url, port);
  const since = performance.now();
  while ((await statusOf('/api/person.json')) !== 200 || (await statusOf('/health/ready')) !== 200) {
    expect(performance.now() - since).toBeLessThan(2000);
  }
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, out: `listening on ${url}\n` });
});

test('a server that waited for its database exits with 1 if the schema does not fit the models', async () => {
  const database = await freshDatabase('postgresql');
  onTestFinished(() => database.drop());
  const { port, close } = await road(database.url);
  close();
  const config = `app_main: { database: { url: '${throughRoad(database.url, port)}', schema: check } }`;
  const server = start(['serve', smallApplication({ 'config/database.yaml': config }), '--port', '0']);
  await server.until(/waiting for it, and returning 503 on \S+ until then/);
  await road(database.url, port);
  const ended = await server.ended;
  expect([ended.code, ended.out]).toEqual([1, '']);
  expect(ended.err).toMatch(/\nPerson: the table person does not exist; .*\n1 difference between the models and the database /);
});

test('a server that is stopped while it waits for its database exits with 0', async () => {
  const config = "app_main: { database: { url: 'postgresql://ada:secret@127.0.0.1:1/app' } }";
  const server = start(['serve', smallApplication({ 'config/database.yaml': config }), '--port', '0']);
  await server.until(/connect ECONNREFUSED 127\.0\.0\.1:1; waiting for it/);
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, out: '' });
  expect(server.printed.err).not.toContain('secret');
});

test('a database that does not exist is a start failure, without waiting', async () => {
  const database = await freshDatabase('postgresql');
  await database.destroy();
  const config = `app_main: { database: { url: '${database.url}' } }`;
  const { code, err } = await run(['serve', smallApplication({ 'config/database.yaml': config }), '--port', '0']);
  expect(code).toBe(1);
  expect(err).toMatch(/cannot open the database .*does not exist; start the server, or check app_main\.database\.url\n$/);
});
