import { setTimeout as sleep } from 'node:timers/promises';

/** A mutex for each key, in the order of requests. Waiting requests need no connection to the database. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #timeout: number;

  /** @param timeout Milliseconds to wait for a turn; 0: no limit. */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /** Waits for a turn, and returns the function that ends it; null after the timeout. */
  async take(key: string): Promise<(() => void) | null> {
    const before = this.#last.get(key);
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const mine = Promise.all([before, promise]).then(() => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    });
    this.#last.set(key, mine);
    if (!before || (await this.#inTime(before))) return end;
    end();
    return null;
  }

  async #inTime(turn: Promise<unknown>): Promise<boolean> {
    if (this.#timeout === 0) return turn.then(() => true);
    const stop = new AbortController();
    const late = sleep(this.#timeout, false, { signal: stop.signal }).catch(() => false);
    try {
      return await Promise.race([turn.then(() => true), late]);
    } finally {
      stop.abort();
    }
  }
}
