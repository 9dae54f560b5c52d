import { setTimeout as sleep } from 'node:timers/promises';

/** Hands out turns, one at a time for each key, in the order asked for: those who wait need no connection for it. */
export class TurnsByKey {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #patience: number;

  /** @param patience Milliseconds to wait for a turn; 0: as long as it takes. */
  constructor(patience: number) {
    this.#patience = patience;
  }

  /** Waits for a turn and gives what ends it; null where it did not come in time. */
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
    if (this.#patience === 0) return turn.then(() => true);
    const stop = new AbortController();
    const late = sleep(this.#patience, false, { signal: stop.signal }).catch(() => false);
    try {
      return await Promise.race([turn.then(() => true), late]);
    } finally {
      stop.abort();
    }
  }
}
