import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ServerDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { retryLater } from '../response/problem-document.ts';
import { targetOf } from '../response/request-target.ts';
import type { Cors } from '../traffic/cors.ts';
import { sendHealth } from '../traffic/health.ts';
import { framingProblem, handleRejected, strictHttp } from '../traffic/protocol.ts';
import { RequestIds } from '../traffic/request-id.ts';
import { writeProblem } from '../traffic/write-problem.ts';

const { createServer } = process.getBuiltinModule('node:http');

/** Responds while the database is unreachable: the process is live, but not ready. */
export async function startWaiting(
  { health, requestIdHeader }: ServerDeclaration,
  { cors, host, port }: { readonly host: string; readonly port: number; readonly cors?: Cors | undefined },
) {
  const unavailable = problem('database_unavailable', {}, { headers: retryLater });
  const ids = requestIdHeader === null ? null : new RequestIds(requestIdHeader);
  const server = createServer(strictHttp, (request, response) => {
    const { path } = targetOf(request.url ?? '/');
    // the next request needs a new connection, so that it reaches the application
    response.setHeader('Connection', 'close');
    if (ids) response.setHeader(ids.header, ids.of(request));
    cors?.mark(request, response);
    if (path === health.live) sendHealth(response, true);
    else if (path === health.ready) sendHealth(response, false);
    else writeProblem(framingProblem(request) ?? unavailable, request, response, ids);
  });
  handleRejected(server, ids);
  server.listen(port, host);
  await once(server, 'listening');
  return {
    address: server.address() as AddressInfo,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      const timer = setTimeout(() => server.closeAllConnections(), 100);
      await closed;
      clearTimeout(timer);
    },
  };
}
