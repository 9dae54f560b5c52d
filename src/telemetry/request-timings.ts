import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';

/** The times of one request, in milliseconds. */
export class RequestTimings {
  readonly start = performance.now();
  /** Time spent in each phase. */
  readonly spent = { access: 0, query: 0 };
  /** When the last phase ended, and serialization began. */
  lastEnd = this.start;
  /** The number of running calls of each phase, and the time since which they run: overlaps count once. */
  readonly #open = { access: { count: 0, since: 0 }, query: { count: 0, since: 0 } };

  /** Begins a phase. The returned function ends it. */
  begin(phase: 'access' | 'query'): () => void {
    const open = this.#open[phase];
    if (open.count++ === 0) open.since = performance.now();
    return () => {
      const now = performance.now();
      this.spent[phase] += now - open.since;
      // the request may not wait for other running calls, such as the count of a page
      open.since = now;
      open.count--;
      this.lastEnd = now;
    };
  }
}

export const timingsByRequest = new WeakMap<FastifyRequest, RequestTimings>();

/** The timings of the request that the running code belongs to. */
export const currentTimings = new AsyncLocalStorage<RequestTimings>();
