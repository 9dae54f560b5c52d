import type { Server } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { gateOf } from '../traffic/gate.ts';

/** Milliseconds in which the server has ended, where nothing else is declared. */
const closingTime = 10_000;

/**
 * Milliseconds for which connections are kept on which nothing is under way: what was sent on them before their clients could
 * know is answered.
 */
const lastRequests = 300;

/** Milliseconds for which those are taken who have connected already. */
const longestLine = 1000;

/** Milliseconds of its time that are left for what comes after the last request. */
const reserve = 500;

/**
 * Prepares a server for an end without loss. What is returned ends it: no connection is accepted any more, requests that came are
 * answered and their connections closed with the answer, and all of that has an end.
 */
export function prepareClose(app: FastifyInstance, patience = closingTime): () => Promise<void> {
  const server = app.server as Server;
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket) => {
    accepted++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    const end = performance.now() + patience - Math.min(reserve, patience / 10);
    await untilNobodyComes(() => accepted, Math.min(longestLine, patience / 2));
    gateOf(app)?.drain();
    // not that of the HTTP server, which closes idle connections at once, whatever is on its way on them
    if (server.listening) TcpServer.prototype.close.call(server);
    for (const limit = performance.now() + lastRequests; sockets.size > 0 && performance.now() < Math.min(limit, end); ) {
      await sleep(10);
    }
    // Else a client that keeps its connection after an answer, or never asks anything, would be waited for.
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    const closed = whenGone(server, sockets)
      .then(() => app.close())
      .then(() => true);
    closed.catch(() => undefined);
    if (await Promise.race([closed, sleep(Math.max(end - performance.now(), 0), false, { ref: false })])) return;
    server.closeAllConnections();
    // what does not end now is ended with the process
    await Promise.race([closed, sleep(Math.min(reserve, patience) / 2, null, { ref: false })]);
  };
}

/**
 * Node takes one connection in each of its turns. Whoever has connected and still stands in line when it is closed would be cut
 * off, so the line is left to empty first; connections are kept meanwhile, so that nobody comes anew because of us.
 */
async function untilNobodyComes(accepted: () => number, limit: number): Promise<void> {
  const end = performance.now() + limit;
  for (let quiet = 0, before = accepted(); quiet < 3 && performance.now() < end; ) {
    await nextTurn();
    quiet = accepted() === before ? quiet + 1 : 0;
    before = accepted();
  }
}

/** Until the last connection is closed the application goes on as ever: Fastify answers nothing any more once it is closing. */
async function whenGone(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (; sockets.size > 0; await sleep(10)) {
    // Node calls a connection idle as soon as an answer was written, and closes it before the client has all of it
    if ([...sockets].every(({ writableLength }) => writableLength === 0)) server.closeIdleConnections();
  }
}
