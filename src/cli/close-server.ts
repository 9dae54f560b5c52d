import type { Server } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { gateOf } from '../traffic/gate.ts';

/** Milliseconds until the server has stopped, unless another timeout is declared. */
const defaultTimeout = 10_000;

/** Milliseconds that idle connections stay open: requests sent before the client noticed the shutdown still get a response. */
const idleTimeout = 300;

/** Milliseconds to accept the connections in the backlog. */
const backlogTimeout = 1000;

/** Milliseconds of the timeout that are reserved for the steps after the last request. */
const reserve = 500;

/**
 * Prepares a graceful shutdown and returns the function that runs it. It accepts no new connections. Received requests get a
 * response, and their connections are closed with it. The timeout limits all of this.
 */
export function prepareClose(app: FastifyInstance, timeout = defaultTimeout): () => Promise<void> {
  const server = app.server as Server;
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket) => {
    accepted++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    const end = performance.now() + timeout - Math.min(reserve, timeout / 10);
    await untilBacklogEmpty(() => accepted, Math.min(backlogTimeout, timeout / 2));
    gateOf(app)?.drain();
    // Not `close` of the HTTP server: it closes idle connections at once, even if a request is on its way. On Bun, it has no other.
    if (server instanceof TcpServer && server.listening) TcpServer.prototype.close.call(server);
    for (const limit = performance.now() + idleTimeout; sockets.size > 0 && performance.now() < Math.min(limit, end); ) {
      await sleep(10);
    }
    // Otherwise the shutdown would wait for clients that keep a connection open after a response, or never send a request.
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    const closed = untilDisconnected(server, sockets)
      .then(() => app.close())
      .then(() => true);
    closed.catch(() => undefined);
    if (await Promise.race([closed, sleep(Math.max(end - performance.now(), 0), false, { ref: false })])) return;
    server.closeAllConnections();
    // anything still open after this ends with the process
    await Promise.race([closed, sleep(Math.min(reserve, timeout) / 2, null, { ref: false })]);
  };
}

/**
 * Node accepts one connection in each turn of the event loop. Connections in the backlog would be reset when the server closes,
 * so the backlog is emptied first. Open connections are kept meanwhile, so that clients do not reconnect because of the shutdown.
 */
async function untilBacklogEmpty(accepted: () => number, limit: number): Promise<void> {
  const end = performance.now() + limit;
  for (let quiet = 0, before = accepted(); quiet < 3 && performance.now() < end; ) {
    await nextTurn();
    quiet = accepted() === before ? quiet + 1 : 0;
    before = accepted();
  }
}

/** The application serves requests until the last connection is closed: Fastify sends no responses once it is closing. */
async function untilDisconnected(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (; sockets.size > 0; await sleep(10)) {
    // for Node, a connection is idle once a response is written; it would be closed before the client has received everything
    if ([...sockets].every(({ writableLength }) => writableLength === 0)) server.closeIdleConnections();
  }
}
