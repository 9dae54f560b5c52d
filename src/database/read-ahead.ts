import type { Cursor } from './cursor.ts';
import type { Statement } from './executor.ts';
import { closedError } from './unavailable.ts';

/** The source of the rows of a cursor. Calls are processed in their order. */
export interface RowSource {
  fetch(size: number): Promise<unknown[][]>;
  /** Whether the last fetch returned fewer rows than requested because of their size, and not because there are no more. */
  wasCut?(): boolean;
  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]>;
  /** @param isOver Whether all rows were fetched. */
  close(isOver: boolean): Promise<void>;
}

/** Fetches rows before they are requested, so that the database works while the previous rows are written. */
export class ReadAheadCursor implements Cursor {
  readonly #source: RowSource;
  #ahead!: Promise<unknown[][]>;
  #expected = 0;
  #isOver = false;
  #isClosed = false;

  private constructor(source: RowSource, size: number) {
    this.#source = source;
    this.#fetch(size);
  }

  /** @param opening Rejects if the source could not be opened; then `open` throws the same error. */
  static async open(source: RowSource, opening: Promise<unknown>, size: number): Promise<Cursor> {
    const cursor = new ReadAheadCursor(source, size);
    try {
      await opening;
      return cursor;
    } catch (error) {
      await cursor.close();
      throw error;
    }
  }

  async next(size: number): Promise<unknown[][]> {
    if (this.#isOver) return [];
    if (this.#isClosed) throw closedError();
    const expected = this.#expected;
    const rows = await this.#ahead;
    if (rows.length < expected && !this.#source.wasCut?.()) this.#isOver = true;
    else if (!this.#isClosed) this.#fetch(size);
    return rows;
  }

  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return this.#source.rows(statement, parameters);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#source.close(this.#isOver);
  }

  #fetch(size: number): void {
    this.#expected = size;
    this.#ahead = this.#source.fetch(size);
    // the next call of `next` throws the error
    this.#ahead.catch(() => undefined);
  }
}
