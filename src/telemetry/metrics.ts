import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ConnectionCounts } from '../database/executor.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import { RequestMetrics } from './request-metrics.ts';

/** The metrics of one process, as they are sent to another. */
export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Seconds. */
const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Milliseconds between two looks at the event loop. */
const resolution = 20;

/** What is looked at when somebody asks. */
export interface Gauges {
  inFlight(): number;
  isBusy(): boolean;
  statementsUnderWay(): number;
  connections(): ReadonlyMap<string, ConnectionCounts>;
}

/** All that is counted of a server and its application. */
export class Metrics {
  readonly requests: RequestMetrics;
  readonly statements: StatementWatch;
  readonly #registry = new Registry();
  /** How long the event loop keeps timers waiting, since it was last asked for. */
  readonly #delay = monitorEventLoopDelay({ resolution });

  /** @param labels What every series of this process is marked with. */
  constructor(labels: Readonly<Record<string, string>> = {}) {
    this.#registry.setDefaultLabels(labels);
    const registers = [this.#registry];
    this.requests = new RequestMetrics(registers);
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

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  report(): Promise<MetricsReport> {
    return this.#registry.getMetricsAsJSON();
  }

  close(): void {
    this.#delay.disable();
  }

  addGauges({ connections, inFlight, isBusy, statementsUnderWay }: Gauges): void {
    this.#gauge('http_requests_in_flight', 'Requests that have no whole answer yet.', inFlight);
    this.#gauge('http_busy', '1 while requests beyond busy_concurrent are turned away.', () => (isBusy() ? 1 : 0));
    this.#gauge('db_statements_under_way', 'Statements that wait, for the database or to be sent to it.', statementsUnderWay);
    if (connections().size === 0) return;
    const registers = [this.#registry];
    new Gauge({
      name: 'db_connections',
      help: 'Open connections to the database, by what they are for.',
      labelNames: ['pool', 'state'],
      registers,
      collect() {
        for (const [pool, { open, used }] of connections()) {
          this.set({ pool, state: 'used' }, used);
          this.set({ pool, state: 'idle' }, open - used);
        }
      },
    });
    new Gauge({
      name: 'db_connections_waiting',
      help: 'Who waits for a connection to the database.',
      labelNames: ['pool'],
      registers,
      collect() {
        for (const [pool, { waiting }] of connections()) this.set({ pool }, waiting);
      },
    });
  }

  /** What the process itself needs, under the names that are usual for it. */
  #addProcess(): void {
    const delay = this.#delay;
    delay.enable();
    const startedAt = Date.now() / 1000 - process.uptime();
    this.#gauge('process_start_time_seconds', 'When the process was started, since the beginning of 1970.', () => startedAt);
    this.#counter('process_cpu_seconds_total', 'CPU time of the process.', () => {
      const { system, user } = process.cpuUsage();
      return (user + system) / 1e6;
    });
    this.#gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
    this.#gauge(
      'nodejs_heap_size_used_bytes',
      'Memory of the JavaScript heap that is in use.',
      () => process.memoryUsage().heapUsed,
    );
    this.#counter(
      'nodejs_eventloop_active_seconds_total',
      'Time in which the event loop had something to do.',
      () => performance.eventLoopUtilization().active / 1000,
    );
    this.#counter(
      'nodejs_eventloop_idle_seconds_total',
      'Time in which the event loop had nothing to do.',
      () => performance.eventLoopUtilization().idle / 1000,
    );
    new Gauge({
      name: 'nodejs_eventloop_lag_seconds',
      help: 'Delay of the event loop since the last scrape.',
      labelNames: ['quantile'],
      registers: [this.#registry],
      collect() {
        for (const percentile of [50, 99, 100]) {
          // beyond what a timer is meant to wait
          const lag = delay.count === 0 ? 0 : Math.max(delay.percentile(percentile) / 1e9 - resolution / 1000, 0);
          this.set({ quantile: String(percentile / 100) }, lag);
        }
        delay.reset();
      },
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Of something that is counted elsewhere. */
  #counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }
}
