import { Counter, Histogram, type Registry } from 'prom-client';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { knownMethods, requestOf, routeOf } from './seen-requests.ts';

/** Seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The label of requests that the gate rejects before a route is looked up. */
const gateRoute = '(gate)';

/** Counts requests by route, method and status, how long they take, and why they are rejected. */
export function requestMetrics(registers: Registry[]): Required<TrafficWatch> & { problem(found: Problem): void } {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const requests = counter('http_requests_total', 'Requests by route, method and status.', 'route', 'method', 'status');
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until the response was sent completely, by route and method.',
    labelNames: ['route', 'method'],
    buckets,
    registers,
  });
  const shed = counter('http_requests_shed_total', 'Requests rejected because of overload.', 'reason');
  for (const reason of ['max_concurrent', 'busy_concurrent', 'handler_timeout']) shed.inc({ reason }, 0);
  const problems = counter('http_problems_total', 'Error responses by code.', 'code');
  const problem = ({ code }: Problem) => problems.inc({ code });
  return {
    problem,
    closed(response, since) {
      const route = routeOf(requestOf(response));
      const method = methodOf(response.req);
      // an incomplete response has no status
      const status = response.writableFinished ? response.statusCode : 'aborted';
      requests.inc({ route, method, status });
      durations.observe({ route, method }, (performance.now() - since) / 1000);
    },
    refused(request, found, reason) {
      requests.inc({ route: gateRoute, method: methodOf(request), status: found.status });
      if (reason !== null) shed.inc({ reason });
      problem(found);
    },
    givenUp(found) {
      shed.inc({ reason: 'handler_timeout' });
      problem(found);
    },
  };
}

function methodOf({ method = '' }: { readonly method?: string | undefined }): string {
  return knownMethods.has(method) ? method : 'OTHER';
}
