import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { Guard } from '../access/guard.ts';
import type { User } from '../access/user.ts';

/** Tells the metrics to whoever has the role for it. */
export function mountMetrics(app: FastifyInstance, path: string, guard: Guard, gather: () => Promise<string>): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: path,
    exposeHeadRoute: false,
    async handler(request, reply) {
      await guard.check(null, (request as { user?: User | null }).user ?? null, request);
      const headers = { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE, 'cache-control': 'no-store' };
      return reply.headers(headers).send(await gather());
    },
  });
}
