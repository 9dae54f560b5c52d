import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Family, familyOf, type Labels } from './exposition.ts';

/** Milliseconds between two looks at the event loop. */
const resolution = 20;

/** What the process itself needs, under the names that are usual for it. */
export class ProcessMetrics {
  /** How long the event loop keeps timers waiting, since it was last asked for. */
  readonly #delay = monitorEventLoopDelay({ resolution });
  readonly #startedAt = Date.now() / 1000 - process.uptime();

  constructor() {
    this.#delay.enable();
  }

  close(): void {
    this.#delay.disable();
  }

  families(common: Labels): Family[] {
    const { heapUsed, rss } = process.memoryUsage();
    const { system, user } = process.cpuUsage();
    const { active, idle } = performance.eventLoopUtilization();
    const one = (name: string, help: string, value: number, type: 'counter' | 'gauge' = 'gauge') =>
      familyOf({ name, help, type }, [[{}, value]], common);
    const lag = [50, 99, 100].map((percentile) => [{ quantile: String(percentile / 100) }, this.#lag(percentile)] as const);
    this.#delay.reset();
    return [
      one('process_start_time_seconds', 'When the process was started, since the beginning of 1970.', this.#startedAt),
      one('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6, 'counter'),
      one('process_resident_memory_bytes', 'Memory of the process.', rss),
      one('nodejs_heap_size_used_bytes', 'Memory of the JavaScript heap that is in use.', heapUsed),
      one('nodejs_eventloop_active_seconds_total', 'Time in which the event loop had something to do.', active / 1000, 'counter'),
      one('nodejs_eventloop_idle_seconds_total', 'Time in which the event loop had nothing to do.', idle / 1000, 'counter'),
      familyOf(
        { name: 'nodejs_eventloop_lag_seconds', help: 'Delay of the event loop since the last scrape.', type: 'gauge' },
        lag,
        common,
      ),
    ];
  }

  /** Seconds beyond those that a timer is meant to wait. */
  #lag(percentile: number): number {
    if (this.#delay.count === 0) return 0;
    return Math.max(this.#delay.percentile(percentile) / 1e9 - resolution / 1000, 0);
  }
}
