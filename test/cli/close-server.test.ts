import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { prepareClose } from '../../src/cli/close-server.ts';

async function listening(handler: () => Promise<unknown>, patience?: number) {
  const app: FastifyInstance = Fastify();
  app.get('/', handler);
  const close = prepareClose(app, patience);
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { close, port: (app.server.address() as AddressInfo).port };
}

test('a pending request gets its full response, and shutdown does not wait for its connection', async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const long = 'x'.repeat(5_000_000);
  const { close, port } = await listening(async () => {
    asked.resolve();
    await gate.promise;
    return long;
  });
  const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  await asked.promise;
  const closed = close();
  await sleep(50);
  gate.resolve();
  expect(await answer).toBe(long);
  const before = performance.now();
  await closed;
  expect(performance.now() - before).toBeLessThan(2000);
});

test('an idle connection is closed immediately', async () => {
  const { close, port } = await listening(async () => 'x');
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const gone = once(socket.resume(), 'close');
  const before = performance.now();
  await close();
  await gone;
  expect(performance.now() - before).toBeLessThan(2000);
});

test('a request that does not end is aborted on shutdown', async () => {
  const asked = Promise.withResolvers<void>();
  const { close, port } = await listening(async () => {
    asked.resolve();
    await new Promise(() => {});
  }, 100);
  const answer = expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  await asked.promise;
  await close();
  await answer;
});
