import type { FastifyBaseLogger } from 'fastify';
import type { User } from '../access/user.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import type { RequestIds } from '../traffic/request-id.ts';
import { shownPath } from './logger.ts';
import { requestOf, routeOf } from './seen-requests.ts';

/** Writes a line for each request once it is over. `isQuiet`: paths that are asked for all the time. */
export function requestLog(log: FastifyBaseLogger, ids: RequestIds | null, isQuiet: (url: string) => boolean): TrafficWatch {
  return {
    closed(response, since) {
      const request = requestOf(response);
      const { method, url = '/' } = response.req;
      const user = (request as { user?: User | null } | undefined)?.user;
      const line = {
        // else it is in every line of the request's own log
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
    // these are counted, and told of once a second: to write of each would be more work than to turn it away
    refused() {},
    givenUp() {},
  };
}
