import type { Sender, Statement } from './executor.ts';

/** A statement and what it is sent with, which may depend on the rows of the step before. */
export interface Step {
  readonly statement: Statement;
  readonly parameters: readonly unknown[] | ((before: unknown[][]) => readonly unknown[]);
  /** Whether the next step runs even if this one gives no row. */
  readonly mayBeEmpty?: true;
}

/** Changes rows. */
export interface Writer extends Sender {
  /** Runs the steps in one transaction and returns the rows of the last. A step without rows ends it. */
  change(steps: readonly Step[]): Promise<unknown[][]>;
}
