import type { Executor, Statement } from '../../database/executor.ts';
import { TooLargeError } from '../../database/too-large.ts';

interface WantedPage {
  readonly offset: number;
  readonly limit: number;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
}

/** Pages before this offset are found as fast alone. */
const minSharedOffset = 1000;

/** Maximum of pages in one statement. */
const maxPages = 100;

/**
 * Finds pages by their offsets, many of them in one walk along the index. A database counts its way to an offset row by row, so
 * that requests for larger offsets can share the walk. As with shared statements, a request that arrives during a walk takes part
 * in the next one. So no response is older than its request.
 */
export class SharedWalk {
  readonly #executor: Executor;
  /** Takes a limit and an offset. */
  readonly #one: Statement;
  /** Takes offsets in ascending order; the last column tells which of them a row belongs to, from 1. */
  readonly #several: (size: number) => Statement;
  #isWalking = false;
  #waiting: WantedPage[] = [];

  constructor(executor: Executor, one: Statement, several: (size: number) => Statement) {
    this.#executor = executor;
    this.#one = one;
    this.#several = several;
  }

  rows(limit: number, offset: number): Promise<unknown[][]> {
    if (offset < minSharedOffset) return this.#executor.rows(this.#one, [limit, offset]);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ offset, limit, resolve, reject });
      if (!this.#isWalking) void this.#walk();
    });
  }

  async #walk(): Promise<void> {
    this.#isWalking = true;
    while (this.#waiting.length > 0) {
      const size = sizeFor((this.#waiting[0] as WantedPage).limit);
      const batch = this.#waiting.filter(({ limit }) => sizeFor(limit) === size).slice(0, maxPages);
      this.#waiting = this.#waiting.filter((other) => !batch.includes(other));
      try {
        await this.#fetchBatch(batch, size);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWalking = false;
  }

  async #fetchAlone({ limit, offset, resolve, reject }: WantedPage): Promise<void> {
    await this.#executor.rows(this.#one, [limit, offset]).then(resolve, reject);
  }

  async #fetchBatch(batch: WantedPage[], size: number): Promise<void> {
    const [only] = batch;
    if (only && batch.length === 1) return this.#fetchAlone(only);
    batch.sort((a, b) => a.offset - b.offset);
    const offsets = batch.map(({ offset }) => offset);
    const pages: unknown[][][] = batch.map(() => []);
    const found = await this.#executor.rows(this.#several(size), [offsets]).catch((error: unknown) => {
      if (error instanceof TooLargeError) return null;
      throw error;
    });
    // too large together, but perhaps not one by one
    if (!found) return void (await Promise.all(batch.map((one) => this.#fetchAlone(one))));
    for (const row of found) pages[Number(row.at(-1)) - 1]?.push(row);
    for (const [i, { limit, resolve }] of batch.entries()) resolve((pages[i] as unknown[][]).slice(0, limit));
  }
}

/** The next power of two: pages of about one size are found together, so that there are few statements. */
function sizeFor(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit));
}
