import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** Milliseconds that requests under way may take to end, once the server was asked to stop. */
const closingTime = 10_000;

/** Prepares a server for a prompt end. What is returned ends it: requests under way are answered, other connections closed. */
export function prepareClose(app: FastifyInstance, patience = closingTime): () => Promise<void> {
  const server = app.server as Server;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    // Else a client that keeps its connection after an answer, or never asks anything, would be waited for.
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    const closed = app.close().then(() => true);
    if (!(await Promise.race([closed, sleep(patience, false, { ref: false })]))) server.closeAllConnections();
  };
}
