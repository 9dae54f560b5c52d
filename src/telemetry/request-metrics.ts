import { Counter, Histogram, type Registry } from 'prom-client';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { knownMethods, requestOf, routeOf } from './seen-requests.ts';

/** Seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The label of requests that the gate rejects before a route is looked up. */
const gateRoute = '(gate)';

/** Counts requests by route, method and status, how long they take, and why they are refused. */
export class RequestMetrics implements TrafficWatch {
  readonly #requests: Counter<'route' | 'method' | 'status'>;
  readonly #durations: Histogram<'route' | 'method'>;
  readonly #shed: Counter<'reason'>;
  readonly #problems: Counter<'code'>;

  constructor(registers: Registry[]) {
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    this.#requests = counter('http_requests_total', 'Requests by route, method and status.', 'route', 'method', 'status');
    this.#durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time until the whole answer was sent, by route and method.',
      labelNames: ['route', 'method'],
      buckets,
      registers,
    });
    this.#shed = counter('http_requests_shed_total', 'Requests turned away for overload.', 'reason');
    for (const reason of ['max_concurrent', 'busy_concurrent', 'handler_timeout']) this.#shed.inc({ reason }, 0);
    this.#problems = counter('http_problems_total', 'Refusals by their code.', 'code');
  }

  readonly closed: TrafficWatch['closed'] = (response, since) => {
    const route = routeOf(requestOf(response));
    const method = methodOf(response.req);
    // a response without its end has no status
    const status = response.writableFinished ? response.statusCode : 'aborted';
    this.#requests.inc({ route, method, status });
    this.#durations.observe({ route, method }, (performance.now() - since) / 1000);
  };

  readonly refused: NonNullable<TrafficWatch['refused']> = (request, found, reason) => {
    this.#requests.inc({ route: gateRoute, method: methodOf(request), status: found.status });
    if (reason !== null) this.#shed.inc({ reason });
    this.problem(found);
  };

  readonly givenUp: NonNullable<TrafficWatch['givenUp']> = (found) => {
    this.#shed.inc({ reason: 'handler_timeout' });
    this.problem(found);
  };

  readonly problem = ({ code }: Problem): void => this.#problems.inc({ code });
}

function methodOf({ method = '' }: { readonly method?: string | undefined }): string {
  return knownMethods.has(method) ? method : 'OTHER';
}
