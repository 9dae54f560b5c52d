import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gate } from '../../src/traffic/gate.ts';
import { rawConnection, until } from './things.ts';

/** Longer than requests are begun for in one turn of the event loop. */
const long = 25;

describe('a busy server', () => {
  const caller = new AsyncLocalStorage<string>();
  let gate: Gate;
  let server: Server;
  let begun: string[];
  let onBegin: () => void;

  beforeEach(async () => {
    begun = [];
    onBegin = () => {};
    server = createServer(async (request, response) => {
      // what a request is begun with is seldom all
      if (request.method === 'POST') await new Promise((resolve) => request.resume().once('end', resolve).once('error', resolve));
      else await null;
      begun.push(`${request.url} for ${caller.getStore()}`);
      onBegin();
      for (const end = performance.now() + long; performance.now() < end; );
      response.end('done');
    });
    // as those do who trace requests
    const emit = server.emit.bind(server) as (event: string, ...args: unknown[]) => boolean;
    server.emit = (event: string, ...args: unknown[]) =>
      event === 'request' ? caller.run((args[0] as { url: string }).url, () => emit(event, ...args)) : emit(event, ...args);
    gate = new Gate(
      { maxConcurrent: 50, busyConcurrent: 4, handlerTimeout: 0, urlLimit: 100, maxParameters: 1, parameterLimit: 10 },
      { isExempt: (path) => path === '/health', statementsUnderWay: () => 1000, onShed: () => {}, ids: null },
    );
    gate.guard(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await (await connected('/first')).ask();
    await until(() => gate.isBusy);
    begun = [];
  });

  afterEach(() => {
    gate.close();
    server.closeAllConnections();
    server.close();
  });

  /** Connections that the server has taken, and a way to ask on all of them so that one turn of the event loop brings it. */
  async function connected(...paths: string[]) {
    const { port } = server.address() as AddressInfo;
    let taken = 0;
    server.on('connection', () => taken++);
    const connections = await Promise.all(paths.map(() => rawConnection(`http://127.0.0.1:${port}`)));
    await until(() => taken === paths.length);
    const ask = () =>
      Promise.all(
        connections.map(async ({ socket, received, closed }, i) => {
          socket.write(`GET ${paths[i]} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
          await closed;
          return Number(received().split(' ')[1]);
        }),
      );
    return { connections, ask };
  }

  test('reads all received requests before it starts the next, and rejects requests over capacity', async () => {
    const { ask } = await connected('/1', '/2', '/3', '/4', '/5', '/health');
    expect(await ask()).toEqual([200, 200, 200, 200, 503, 200]);
    expect(begun).toEqual(['/health for /health', '/1 for /1', '/2 for /2', '/3 for /3', '/4 for /4']);
  });

  test('skips requests whose client disconnected before their turn', async () => {
    const { connections, ask } = await connected('/1', '/2', '/3', '/4');
    onBegin = () => connections[3]?.socket.destroy();
    await ask();
    await until(() => gate.inFlight === 0);
    expect(begun).toEqual(['/1 for /1', '/2 for /2', '/3 for /3']);
  });

  test('frees capacity for other requests as soon as it waits for bodies', async () => {
    const { connections } = await connected('/1', '/2', '/3', '/4', '/5', '/6');
    const head = 'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
    for (const { socket } of connections) socket.write(head);
    await until(() => gate.inFlight === connections.length);
    const { ask } = await connected('/7');
    expect(await ask()).toEqual([200]);
  });
});
