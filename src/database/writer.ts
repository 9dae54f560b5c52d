import type { ConnectionCounts, Statement } from './executor.ts';

/** A statement and what it is sent with, which may depend on the rows of the step before. */
export interface Step {
  readonly statement: Statement;
  readonly parameters: readonly unknown[] | ((before: unknown[][]) => readonly unknown[]);
  /** Whether the next step runs even if this one gives no row. */
  readonly mayBeEmpty?: true;
}

/** Sends compiled statements that change rows. */
export interface Writer {
  /** Runs the steps in one transaction and gives the rows of the last. Where a step gives none, the rest is not run. */
  change(steps: readonly Step[]): Promise<unknown[][]>;
  /** Changes that wait, for the database or to be sent to it. */
  underWay(): number;
  /** Absent where the database needs no connections. */
  connections?(): ConnectionCounts;
  close(): Promise<void>;
}
