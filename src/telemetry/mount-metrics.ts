import type { FastifyInstance } from 'fastify';
import type { Guard } from '../access/guard.ts';
import type { User } from '../access/user.ts';
import { exposition, expositionType, type Family } from './exposition.ts';

/** Tells the metrics to whoever has the role for it. */
export function mountMetrics(
  app: FastifyInstance,
  path: string,
  guard: Guard,
  gather: () => readonly Family[] | Promise<readonly Family[]>,
): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: path,
    exposeHeadRoute: false,
    async handler(request, reply) {
      await guard.check(null, (request as { user?: User | null }).user ?? null, request);
      return reply.headers({ 'content-type': expositionType, 'cache-control': 'no-store' }).send(exposition(await gather()));
    },
  });
}
