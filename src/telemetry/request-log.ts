import type { FastifyBaseLogger } from 'fastify';
import type { User } from '../access/user.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import type { RequestIds } from '../traffic/request-id.ts';
import { shownPath } from './logger.ts';
import { requestOf, routeOf } from './seen-requests.ts';

/** Logs a line for each request when it has ended. `isQuiet`: paths that are polled, such as health checks. */
export function requestLog(log: FastifyBaseLogger, ids: RequestIds | null, isQuiet: (url: string) => boolean): TrafficWatch {
  return {
    closed(response, since) {
      const request = requestOf(response);
      const { method, url = '/' } = response.req;
      const user = (request as { user?: User | null } | undefined)?.user;
      const line = {
        // the logger of a request adds it to every line
        ...(!request && ids && { request_id: ids.of(response.req) }),
        method,
        route: routeOf(request),
        path: shownPath(url),
        status: response.statusCode,
        ms: Math.round((performance.now() - since) * 100) / 100,
        ...(user && { user: user.id }),
        ...(!response.writableFinished && { aborted: true }),
      };
      (request?.log ?? log)[isQuiet(url) ? 'debug' : 'info'](line, 'request');
    },
    // rejections are counted and logged once a second: a line for each would cost more than the rejection
  };
}
