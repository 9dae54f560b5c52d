import { LruCache } from '../database/lru-cache.ts';
import type { Hits } from '../database/rate-table.ts';

/** Callers that are remembered. */
const mostCallers = 100_000;

/** Counts requests in this process. */
export class RateMemory {
  readonly #callers: LruCache<{ hits: number; readonly resetsAt: number }>;

  constructor(most = mostCallers) {
    this.#callers = new LruCache(most);
  }

  get size(): number {
    return this.#callers.size;
  }

  hit(caller: string, window: number, now: number): Hits {
    const known = this.#callers.get(caller);
    if (!known || known.resetsAt <= now) return this.#callers.set(caller, { hits: 1, resetsAt: now + window });
    known.hits++;
    return known;
  }
}
