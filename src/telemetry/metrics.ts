import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Guard } from '../access/guard.ts';
import type { User } from '../access/user.ts';
import type { ConnectionCounts } from '../database/executor.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import type { Gate } from '../traffic/gate.ts';
import { requestMetrics } from './request-metrics.ts';

/** The metrics of one process, as they are sent to another. */
export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Seconds. */
const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Milliseconds between two samples of the event loop. */
const resolution = 20;

/** The state of the database at each scrape. */
interface DatabaseGauges {
  statementsUnderWay(): number;
  connections(): ReadonlyMap<string, ConnectionCounts>;
  /** Whether each replica is used; null if there are none. */
  replicas(): ReadonlyMap<string, boolean> | null;
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The metrics of a server and its application. */
export class Metrics {
  readonly requests: ReturnType<typeof requestMetrics>;
  readonly statements: StatementWatch;
  readonly #registry = new Registry();
  /** The delay of timers since the last scrape. */
  readonly #delay = monitorEventLoopDelay({ resolution });

  /** @param labels Added to every series of this process. */
  constructor(labels: Readonly<Record<string, string>> = {}) {
    this.#registry.setDefaultLabels(labels);
    const registers = [this.#registry];
    this.requests = requestMetrics(registers);
    const durations = new Histogram({
      name: 'db_statement_duration_seconds',
      help: 'Time that the database took for a statement.',
      buckets,
      registers,
    });
    const failures = new Counter({ name: 'db_statement_failures_total', help: 'Statements that failed.', registers });
    this.statements = {
      answered(took, isFailure) {
        durations.observe(took / 1000);
        if (isFailure) failures.inc();
      },
    };
    this.#addProcess();
  }

  report(): Promise<MetricsReport> {
    return this.#registry.getMetricsAsJSON();
  }

  close(): void {
    this.#delay.disable();
  }

  addGauges(gate: Pick<Gate, 'inFlight' | 'isBusy'>, { connections, replicas, statementsUnderWay }: DatabaseGauges): void {
    this.#gauge('http_requests_in_flight', 'Requests whose response is not sent completely.', () => gate.inFlight);
    this.#gauge('http_busy', '1 while requests beyond busy_concurrent are rejected.', () => Number(gate.isBusy));
    this.#gauge('db_statements_under_way', 'Statements that are waiting: for the database, or to be sent.', statementsUnderWay);
    if (replicas() !== null)
      this.#gauges('db_replica_usable', '1 while reads may go to the replica.', ['replica'], () =>
        Array.from(replicas() ?? [], ([replica, isUsable]): Sample => [{ replica }, Number(isUsable)]),
      );
    if (connections().size === 0) return;
    this.#gauges('db_connections', 'Open connections to the database, by purpose.', ['pool', 'state'], () =>
      [...connections()].flatMap(([pool, { open, used }]): Sample[] => [
        [{ pool, state: 'used' }, used],
        [{ pool, state: 'idle' }, open - used],
      ]),
    );
    this.#gauges('db_connections_waiting', 'Requests that are waiting for a connection to the database.', ['pool'], () =>
      Array.from(connections(), ([pool, { waiting }]): Sample => [{ pool }, waiting]),
    );
  }

  /** The process itself, under the names that Prometheus clients use. */
  #addProcess(): void {
    const delay = this.#delay;
    delay.enable();
    const startedAt = Date.now() / 1000 - process.uptime();
    const loop = () => performance.eventLoopUtilization();
    this.#gauge('process_start_time_seconds', 'Start time of the process, since the beginning of 1970.', () => startedAt);
    this.#counter('process_cpu_seconds_total', 'CPU time of the process.', () => {
      const { system, user } = process.cpuUsage();
      return (user + system) / 1e6;
    });
    const heapHelp = 'Memory of the JavaScript heap that is in use.';
    this.#gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
    this.#gauge('nodejs_heap_size_used_bytes', heapHelp, () => process.memoryUsage().heapUsed);
    const activeHelp = 'Time in which the event loop was busy.';
    const idleHelp = 'Time in which the event loop was idle.';
    this.#counter('nodejs_eventloop_active_seconds_total', activeHelp, () => loop().active / 1000);
    this.#counter('nodejs_eventloop_idle_seconds_total', idleHelp, () => loop().idle / 1000);
    this.#gauges('nodejs_eventloop_lag_seconds', 'Delay of the event loop since the last scrape.', ['quantile'], () => {
      const lags = [50, 99, 100].map((percentile): Sample => {
        // without the time for which the timer was set
        const lag = delay.count === 0 ? 0 : Math.max(delay.percentile(percentile) / 1e9 - resolution / 1000, 0);
        return [{ quantile: String(percentile / 100) }, lag];
      });
      delay.reset();
      return lags;
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    this.#gauges(name, help, [], () => [[{}, read()]]);
  }

  #gauges(name: string, help: string, labelNames: string[], read: () => readonly Sample[]): void {
    const collect = (gauge: Gauge) => {
      for (const [labels, value] of read()) gauge.set(labels, value);
    };
    const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [this.#registry], collect: () => collect(gauge) });
  }

  /** A counter that reads its value at each scrape. */
  #counter(name: string, help: string, read: () => number): void {
    const collect = () => {
      counter.reset();
      counter.inc(read());
    };
    const counter: Counter = new Counter({ name, help, registers: [this.#registry], collect });
  }

  /** Serves the metrics of this process, or those that `gather` returns, to callers who pass the guard. */
  mount(app: FastifyInstance, path: string, guard: Guard, gather = () => this.#registry.metrics()): void {
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
}
