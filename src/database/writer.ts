import type { ConnectionCounts, Statement } from './executor.ts';

/** A statement and what it is sent with, which may depend on the rows of the step before. */
export interface Step {
  readonly statement: Statement;
  readonly parameters: readonly unknown[] | ((before: unknown[][]) => readonly unknown[]);
  /** Whether the next step runs even if this one gives no row. */
  readonly mayBeEmpty?: true;
}

export type Send = (statement: Statement, parameters: readonly unknown[]) => Promise<unknown[][]>;

/** What a transaction gives, and what it is to do before. */
export interface Work<Result> {
  readonly result: Result;
  readonly changes: readonly { readonly statement: Statement; readonly parameters: readonly unknown[] }[];
}

/** Sends compiled statements that change rows. */
export interface Writer {
  /** Runs the steps in one transaction and gives the rows of the last. Where a step gives none, the rest is not run. */
  change(steps: readonly Step[]): Promise<unknown[][]>;
  /**
   * Runs work that reads in a transaction, does what it asks for, and commits; or leaves everything as it was, where it asks for
   * nothing or throws.
   */
  transaction<Result>(work: (send: Send) => Promise<Work<Result>>): Promise<Result>;
  /** Changes that wait, for the database or to be sent to it. */
  underWay(): number;
  /** Absent where the database needs no connections. */
  connections?(): ConnectionCounts;
  close(): Promise<void>;
}
