import type { Statement } from './executor.ts';

/** The maximum size of the rows that a cursor reads at a time, in bytes; a single row may be larger. */
export const chunkBytes = 1_048_576;

/** The rows of one statement in chunks, all from one snapshot. */
export interface Cursor {
  /** The next rows: at most `size`, fewer if they exceed {@link chunkBytes}, and none at the end. */
  next(size: number): Promise<unknown[][]>;
  /** The rows of another statement, in the same snapshot. */
  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]>;
  /** Releases the query, its snapshot and its connection. Reads in progress are ended and fail. */
  close(): Promise<void>;
}

/** Opens cursors for compiled statements. */
export interface Cursors {
  /** `size` is the number of rows in the first chunk. */
  open(statement: Statement, parameters: readonly unknown[], size: number): Promise<Cursor>;
  close(): Promise<void>;
}
