import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { HealthDeclaration } from '../declaration/types.ts';
import { noSniffing, noStore } from '../response/problem-document.ts';

/** How many replicas of the database there are, and how many of them are used. */
interface ReplicaCounts {
  readonly usable: number;
  readonly declared: number;
}

/** Contains the status and no addresses or errors, because the routes are public. */
function healthResponse(isHealthy: boolean, replicas: ReplicaCounts | null = null) {
  return {
    status: isHealthy ? 200 : 503,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      [noStore.name]: noStore.value,
      [noSniffing.name]: noSniffing.value,
      ...(!isHealthy && { 'retry-after': '1' }),
    },
    body: JSON.stringify({ status: isHealthy ? 'ok' : 'unavailable', ...(replicas && { replicas }) }),
  };
}

/**
 * Mounts the health checks: `live` responds while the process runs, `ready` while it can serve requests. Replicas do not count: the
 * primary serves every request without them.
 */
export function mountHealth(
  app: FastifyInstance,
  { live, ready }: HealthDeclaration,
  isReady: () => Promise<boolean>,
  replicas: () => ReplicaCounts | null,
): void {
  const mount = (url: string | null, isHealthy: () => boolean | Promise<boolean>, counts?: typeof replicas) => {
    if (url === null) return;
    const handler = async (_: unknown, reply: FastifyReply) => {
      const { status, headers, body } = healthResponse(await isHealthy(), counts?.());
      return reply.code(status).headers(headers).send(body);
    };
    app.route({ method: ['GET', 'HEAD'], url, exposeHeadRoute: false, handler });
  };
  mount(live, () => true);
  mount(ready, isReady, replicas);
}

/** Sends the same response without Fastify, while the application has not started yet. */
export function sendHealth(response: ServerResponse, isHealthy: boolean): void {
  const { status, headers, body } = healthResponse(isHealthy);
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
