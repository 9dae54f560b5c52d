import type { Executor, Statement } from '../../database/executor.ts';
import { TooLargeError } from '../../database/too-large.ts';

interface WantedPage {
  readonly offset: number;
  readonly limit: number;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
}

/** Pages before this one are found as fast alone. */
const nearest = 1000;

/** Pages that one statement looks for. */
const most = 100;

/**
 * Finds pages by their place, many of them on one walk along the index: a database counts its way to a place row by row, and
 * those who wait for places further on can go the same way. As with statements that are shared, who comes while a walk is under
 * way takes part in the next, so that nobody is answered from before they asked.
 */
export class SharedWalk {
  readonly #executor: Executor;
  /** Takes a limit and an offset. */
  readonly #one: Statement;
  /** Takes offsets in ascending order; the last column tells which of them a row belongs to, from 1. */
  readonly #several: (size: number) => Statement;
  #isUnderWay = false;
  #waiting: WantedPage[] = [];

  constructor(executor: Executor, one: Statement, several: (size: number) => Statement) {
    this.#executor = executor;
    this.#one = one;
    this.#several = several;
  }

  rows(limit: number, offset: number): Promise<unknown[][]> {
    if (offset < nearest) return this.#executor.rows(this.#one, [limit, offset]);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ offset, limit, resolve, reject });
      if (!this.#isUnderWay) void this.#walk();
    });
  }

  async #walk(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      const size = sizeFor((this.#waiting[0] as WantedPage).limit);
      const asked = this.#waiting.filter(({ limit }) => sizeFor(limit) === size).slice(0, most);
      this.#waiting = this.#waiting.filter((other) => !asked.includes(other));
      try {
        await this.#answer(asked, size);
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    this.#isUnderWay = false;
  }

  async #answerAlone({ limit, offset, resolve, reject }: WantedPage): Promise<void> {
    await this.#executor.rows(this.#one, [limit, offset]).then(resolve, reject);
  }

  async #answer(asked: WantedPage[], size: number): Promise<void> {
    const [only] = asked;
    if (only && asked.length === 1) return this.#answerAlone(only);
    asked.sort((a, b) => a.offset - b.offset);
    const offsets = asked.map(({ offset }) => offset);
    const pages: unknown[][][] = asked.map(() => []);
    const found = await this.#executor.rows(this.#several(size), [offsets]).catch((error: unknown) => {
      if (error instanceof TooLargeError) return null;
      throw error;
    });
    // too large together, and perhaps not each of them
    if (!found) return void (await Promise.all(asked.map((one) => this.#answerAlone(one))));
    for (const row of found) pages[Number(row.at(-1)) - 1]?.push(row);
    for (const [i, { limit, resolve }] of asked.entries()) resolve((pages[i] as unknown[][]).slice(0, limit));
  }
}

/** Pages of about one size are found together, so that there are few statements: the power of two that holds so many rows. */
function sizeFor(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit));
}
