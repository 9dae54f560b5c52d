import { LruCache } from '../../database/lru-cache.ts';

/** Callers whose stored bytes a process remembers. */
const mostCallers = 10_000;

/** Bytes that a process stores for a caller before it asks the database what others have stored. */
const longestStep = 65_536;

/** Milliseconds after which a caller without room is looked at again: responses expire. */
const patience = 10_000;

interface Usage {
  /** As the database said. */
  known: number;
  /** What this process has stored since. */
  added: number;
  readAt: number;
}

/** Bounds the bytes that are stored under a name. Most requests are decided without the database, so that processes can exceed it a little. */
export class ByteBudget {
  readonly #limit: number;
  readonly #step: number;
  readonly #used = new LruCache<Usage>(mostCallers);

  constructor(limit: number) {
    this.#limit = limit;
    this.#step = Math.min(longestStep, limit / 4);
  }

  /**
   * Whether there is room for some bytes, which are counted then.
   *
   * @param read Asks the database for the bytes that are stored under the name.
   */
  async take(name: string, bytes: number, read: () => Promise<number>): Promise<boolean> {
    const used = this.#used.get(name, () => ({ known: 0, added: 0, readAt: Number.NEGATIVE_INFINITY }));
    const now = performance.now();
    const isFull = used.known + used.added + bytes > this.#limit;
    if (isFull ? now - used.readAt > patience : used.added + bytes > this.#step) {
      // set first: requests at the same time need not ask as well
      used.readAt = now;
      const added = used.added;
      used.known = await read();
      used.added -= added;
    }
    if (used.known + used.added + bytes > this.#limit) return false;
    used.added += bytes;
    return true;
  }
}
