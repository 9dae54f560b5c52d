import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { HealthDeclaration } from '../declaration/types.ts';

/** All that is told, as anybody may ask. */
function told(isWell: boolean) {
  return {
    status: isWell ? 200 : 503,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(!isWell && { 'retry-after': '1' }),
    },
    body: isWell ? '{"status":"ok"}' : '{"status":"unavailable"}',
  };
}

/** Tells whether the process answers, and whether it can answer requests. */
export function mountHealth(app: FastifyInstance, { live, ready }: HealthDeclaration, isReady: () => Promise<boolean>): void {
  const method: ('GET' | 'HEAD')[] = ['GET', 'HEAD'];
  const tell = (reply: FastifyReply, isWell: boolean) => {
    const { status, headers, body } = told(isWell);
    return reply.code(status).headers(headers).send(body);
  };
  if (live !== null) app.route({ method, url: live, exposeHeadRoute: false, handler: (_, reply) => tell(reply, true) });
  if (ready !== null)
    app.route({ method, url: ready, exposeHeadRoute: false, handler: async (_, reply) => tell(reply, await isReady()) });
}

/** Tells the same where there is no application yet. */
export function tellHealth(response: ServerResponse, isWell: boolean): void {
  const { status, headers, body } = told(isWell);
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
