import { Counter, Histogram, type Registry } from 'prom-client';
import { httpMethods } from '../declaration/types.ts';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { requestOf, routeOf } from './seen-requests.ts';

/** Seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The label of what was turned away before any route was looked for. */
const gateRoute = '(gate)';

const knownMethods: ReadonlySet<string> = new Set([...httpMethods, 'OPTIONS']);

/** Counts requests by route, method and status, how long they take, and why they are refused. */
export class RequestMetrics implements TrafficWatch {
  readonly #requests: Counter<'route' | 'method' | 'status'>;
  readonly #durations: Histogram<'route' | 'method'>;
  readonly #shed: Counter<'reason'>;
  readonly #problems: Counter<'code'>;

  constructor(registers: Registry[]) {
    this.#requests = new Counter({
      name: 'http_requests_total',
      help: 'Requests by route, method and status.',
      labelNames: ['route', 'method', 'status'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time until the whole answer was sent, by route and method.',
      labelNames: ['route', 'method'],
      buckets,
      registers,
    });
    this.#shed = new Counter({
      name: 'http_requests_shed_total',
      help: 'Requests turned away for overload.',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of ['max_concurrent', 'busy_concurrent', 'handler_timeout']) this.#shed.inc({ reason }, 0);
    this.#problems = new Counter({
      name: 'http_problems_total',
      help: 'Refusals by their code.',
      labelNames: ['code'],
      registers,
    });
  }

  /** One that came past the gate is over. */
  readonly closed: TrafficWatch['closed'] = (response, since) => {
    const route = routeOf(requestOf(response));
    const method = methodOf(response.req);
    // without its end an answer is none, whatever its status was to be
    const status = response.writableFinished ? response.statusCode : 'aborted';
    this.#requests.inc({ route, method, status });
    this.#durations.observe({ route, method }, (performance.now() - since) / 1000);
  };

  /** One was answered by the gate itself. */
  readonly refused: TrafficWatch['refused'] = (request, found, reason) => {
    this.#requests.inc({ route: gateRoute, method: methodOf(request), status: found.status });
    if (reason !== null) this.#shed.inc({ reason });
    this.problem(found);
  };

  /** One that came past the gate took too long. */
  readonly givenUp: TrafficWatch['givenUp'] = (found) => {
    this.#shed.inc({ reason: 'handler_timeout' });
    this.problem(found);
  };

  readonly problem = ({ code }: Problem): void => this.#problems.inc({ code });
}

/** Whoever makes up a method makes no label of their own. */
function methodOf({ method = '' }: { readonly method?: string | undefined }): string {
  return knownMethods.has(method) ? method : 'OTHER';
}
