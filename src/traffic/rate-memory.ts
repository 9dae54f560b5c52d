import type { Hits } from '../database/rate-table.ts';

/** Callers that are remembered; beyond that the one who came first is forgotten. */
const mostCallers = 100_000;

/** Counts requests in this process. */
export class RateMemory {
  readonly #callers = new Map<string, { hits: number; readonly resetsAt: number }>();
  readonly #most: number;

  constructor(most = mostCallers) {
    this.#most = most;
  }

  get size(): number {
    return this.#callers.size;
  }

  hit(caller: string, window: number, now: number): Hits {
    const known = this.#callers.get(caller);
    if (known && known.resetsAt > now) {
      known.hits++;
      return known;
    }
    this.#callers.delete(caller);
    this.#forget(now);
    const first = { hits: 1, resetsAt: now + window };
    this.#callers.set(caller, first);
    return first;
  }

  /** Whoever comes new takes the place of two whose window is over, so that there are never many of those. */
  #forget(now: number): void {
    let looked = 0;
    for (const [caller, { resetsAt }] of this.#callers) {
      if (resetsAt > now && this.#callers.size < this.#most) break;
      this.#callers.delete(caller);
      if (++looked === 2) break;
    }
  }
}
