import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { HealthDeclaration } from '../declaration/types.ts';
import { noSniffing, noStore } from '../response/problem-document.ts';

/** Says only whether it is well: anybody may ask. */
function healthResponse(isWell: boolean) {
  return {
    status: isWell ? 200 : 503,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      [noStore.name]: noStore.value,
      [noSniffing.name]: noSniffing.value,
      ...(!isWell && { 'retry-after': '1' }),
    },
    body: isWell ? '{"status":"ok"}' : '{"status":"unavailable"}',
  };
}

/** Mounts the health checks: `live` responds while the process runs, `ready` while it can serve requests. */
export function mountHealth(app: FastifyInstance, { live, ready }: HealthDeclaration, isReady: () => Promise<boolean>): void {
  const mount = (url: string | null, isWell: () => boolean | Promise<boolean>) => {
    if (url === null) return;
    const handler = async (_: unknown, reply: FastifyReply) => {
      const { status, headers, body } = healthResponse(await isWell());
      return reply.code(status).headers(headers).send(body);
    };
    app.route({ method: ['GET', 'HEAD'], url, exposeHeadRoute: false, handler });
  };
  mount(live, () => true);
  mount(ready, isReady);
}

/** Sends the same while the application has not started yet. */
export function sendHealth(response: ServerResponse, isWell: boolean): void {
  const { status, headers, body } = healthResponse(isWell);
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
