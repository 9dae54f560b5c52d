import type { FastifyRequest } from 'fastify';
import { httpMethods } from '../declaration/types.ts';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { type Family, familyOf, Histogram, histogramFamily, type Labels } from './exposition.ts';
import { requestOf, routeOf, unknownRoute } from './seen-requests.ts';

/** Milliseconds. */
const bounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/** The label of what was turned away before any route was looked for. */
const gateRoute = '(gate)';

/** Whoever makes up a method makes no label of their own. */
const otherMethod = 'OTHER';
const knownMethods: ReadonlySet<string> = new Set([...httpMethods, 'OPTIONS']);

/** What is counted of one route and method. */
interface Series {
  readonly durations: Histogram;
  readonly byStatus: Map<number | 'aborted', number>;
}

type Cell = Map<string, Series>;

const cellKey = Symbol('metrics');

/** Counts requests by route, method and status, how long they take, and why they are refused. */
export class RequestMetrics implements TrafficWatch {
  readonly #cells = new Map<string, Cell>();
  readonly #refused = new Map<string, number>();
  readonly #shed = new Map<string, number>();

  /** One that came past the gate is over. */
  readonly closed: TrafficWatch['closed'] = (response, since) => {
    const request = requestOf(response);
    const cell = request ? this.#cellOf(request) : this.#cell(unknownRoute);
    const series = seriesOf(cell, response.req.method ?? otherMethod);
    series.durations.note(performance.now() - since);
    // without its end an answer is none, whatever its status was to be
    increase(series.byStatus, response.writableFinished ? response.statusCode : 'aborted');
  };

  /** One was answered by the gate itself. */
  readonly refused: TrafficWatch['refused'] = (request, found, reason) => {
    increase(seriesOf(this.#cell(gateRoute), request.method ?? otherMethod).byStatus, found.status);
    if (reason !== null) increase(this.#shed, reason);
    this.problem(found);
  };

  /** One that came past the gate took too long. */
  readonly givenUp: TrafficWatch['givenUp'] = (found) => {
    increase(this.#shed, 'handler_timeout');
    this.problem(found);
  };

  readonly problem = ({ code }: Problem): void => increase(this.#refused, code);

  families(common: Labels): Family[] {
    const series = [...this.#cells].flatMap(([route, cell]) =>
      Array.from(cell, ([method, one]) => ({ labels: { route, method }, one })),
    );
    const byStatus = series.flatMap(({ labels, one }) =>
      Array.from(one.byStatus, ([status, count]) => [{ ...labels, status: String(status) }, count] as const),
    );
    const shed = ['max_concurrent', 'busy_concurrent', 'handler_timeout'].map(
      (reason) => [{ reason }, this.#shed.get(reason) ?? 0] as const,
    );
    const refused = Array.from(this.#refused, ([code, count]) => [{ code }, count] as const);
    const measured = series.flatMap(({ labels, one }) => (labels.route === gateRoute ? [] : [[labels, one.durations] as const]));
    return [
      familyOf({ name: 'http_requests_total', help: 'Requests by route, method and status.', type: 'counter' }, byStatus, common),
      histogramFamily(
        { name: 'http_request_duration_seconds', help: 'Time until the whole answer was sent, by route and method.' },
        measured,
        common,
      ),
      familyOf({ name: 'http_requests_shed_total', help: 'Requests turned away for overload.', type: 'counter' }, shed, common),
      familyOf({ name: 'http_problems_total', help: 'Refusals by their code.', type: 'counter' }, refused, common),
    ];
  }

  /** Found once for each route that is mounted: formats of one route are mounted apart, and counted together. */
  #cellOf(request: FastifyRequest): Cell {
    const config = request.routeOptions.config as { [cellKey]?: Cell };
    config[cellKey] ??= this.#cell(routeOf(request));
    return config[cellKey];
  }

  #cell(route: string): Cell {
    let cell = this.#cells.get(route);
    if (!cell) {
      cell = new Map();
      this.#cells.set(route, cell);
    }
    return cell;
  }
}

function seriesOf(cell: Cell, asked: string): Series {
  const method = knownMethods.has(asked) ? asked : otherMethod;
  let series = cell.get(method);
  if (!series) {
    series = { durations: new Histogram(bounds), byStatus: new Map() };
    cell.set(method, series);
  }
  return series;
}

function increase<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
