import { LruCache } from '../../database/lru-cache.ts';

/** Callers whose stored bytes a process remembers. */
const mostCallers = 10_000;

/** Bytes that a process stores for a caller before it reads from the database how much others have stored. */
const longestStep = 65_536;

/** Milliseconds after which a full budget is read from the database again, because responses expire. */
const rereadAfter = 10_000;

interface Usage {
  /** Bytes as last read from the database. */
  known: number;
  /** Bytes that this process has stored since then. */
  added: number;
  readAt: number;
}

/** Limits the bytes that are stored under a name. Most requests need no database read, so processes can exceed it a little. */
export class ByteBudget {
  readonly #limit: number;
  readonly #step: number;
  readonly #used = new LruCache<Usage>(mostCallers);

  constructor(limit: number) {
    this.#limit = limit;
    this.#step = Math.min(longestStep, limit / 4);
  }

  /**
   * Counts some bytes if there is room for them. Returns false if there is not.
   *
   * @param read Reads from the database how many bytes are stored under the name.
   */
  async take(name: string, bytes: number, read: () => Promise<number>): Promise<boolean> {
    const used = this.#used.get(name, () => ({ known: 0, added: 0, readAt: Number.NEGATIVE_INFINITY }));
    const now = performance.now();
    const isFull = used.known + used.added + bytes > this.#limit;
    if (isFull ? now - used.readAt > rereadAfter : used.added + bytes > this.#step) {
      // set first, so that concurrent requests do not read as well
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
