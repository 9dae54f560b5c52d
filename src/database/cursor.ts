import type { Statement } from './executor.ts';

/** Bytes that the rows of a cursor may have that are read at a time, unless one row has more. */
export const chunkBytes = 1_048_576;

/** The rows of one statement, some at a time, and all of one snapshot. */
export interface Cursor {
  /** The next rows, at most so many, and fewer if they have more than {@link chunkBytes}; none at the end. */
  next(size: number): Promise<unknown[][]>;
  /** The rows of another statement, in the same snapshot. */
  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]>;
  /** Gives everything back: the query, its snapshot, its connection. What is under way is ended, and fails. */
  close(): Promise<void>;
}

/** Opens cursors for compiled statements. */
export interface Cursors {
  /** `size` is how many rows will be asked for first. */
  open(statement: Statement, parameters: readonly unknown[], size: number): Promise<Cursor>;
  close(): Promise<void>;
}
