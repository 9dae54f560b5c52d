import type { ConnectionCounts } from '../database/executor.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import { type Family, familyOf, Histogram, histogramFamily, type Labels } from './exposition.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';

/** Milliseconds. */
const bounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/** What is looked at when somebody asks. */
export interface Gauges {
  inFlight(): number;
  isBusy(): boolean;
  statementsUnderWay(): number;
  connections(): ReadonlyMap<string, ConnectionCounts>;
}

/** All that is counted of a server and its application. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly statements: StatementWatch;
  readonly #process = new ProcessMetrics();
  readonly #durations = new Histogram(bounds);
  #failed = 0;
  /** What every series of this process is marked with. */
  readonly #common: Labels;

  constructor(common: Labels = {}) {
    this.#common = common;
    this.statements = {
      answered: (took, isFailure) => {
        this.#durations.note(took);
        if (isFailure) this.#failed++;
      },
    };
  }

  close(): void {
    this.#process.close();
  }

  families(gauges: Gauges): Family[] {
    const gauge = (name: string, help: string, samples: Iterable<readonly [Labels, number]>) =>
      familyOf({ name, help, type: 'gauge' }, samples, this.#common);
    const connections = [...gauges.connections()];
    const byState = connections.flatMap(([pool, { open, used }]) => [
      [{ pool, state: 'used' }, used] as const,
      [{ pool, state: 'idle' }, open - used] as const,
    ]);
    const waiting = connections.map(([pool, counts]) => [{ pool }, counts.waiting] as const);
    const failures = { name: 'db_statement_failures_total', help: 'Statements that failed.', type: 'counter' } as const;
    return [
      ...this.requests.families(this.#common),
      gauge('http_requests_in_flight', 'Requests that have no whole answer yet.', [[{}, gauges.inFlight()]]),
      gauge('http_busy', '1 while requests beyond busy_concurrent are turned away.', [[{}, gauges.isBusy() ? 1 : 0]]),
      histogramFamily(
        { name: 'db_statement_duration_seconds', help: 'Time that the database took for a statement.' },
        [[{}, this.#durations]],
        this.#common,
      ),
      familyOf(failures, [[{}, this.#failed]], this.#common),
      gauge('db_statements_under_way', 'Statements that wait, for the database or to be sent to it.', [
        [{}, gauges.statementsUnderWay()],
      ]),
      ...(connections.length > 0
        ? [
            gauge('db_connections', 'Open connections to the database, by what they are for.', byState),
            gauge('db_connections_waiting', 'Who waits for a connection to the database.', waiting),
          ]
        : []),
      ...this.#process.families(this.#common),
    ];
  }
}
