import type { Sender, Statement } from './executor.ts';

/** A statement and its parameters, which may depend on the rows of the previous step. */
export interface Step {
  readonly statement: Statement;
  readonly parameters: readonly unknown[] | ((before: unknown[][]) => readonly unknown[]);
  /** Whether the next step runs even if this one returns no row. */
  readonly mayBeEmpty?: true;
  /** Whether it may take long, for other reasons than the writer can see in the statement. */
  readonly mayTakeLong?: boolean;
}

/** Changes rows. */
export interface Writer extends Sender {
  /** Runs the steps in one transaction and returns the rows of the last. Ends after a step without rows, unless `mayBeEmpty`. */
  change(steps: readonly Step[]): Promise<unknown[][]>;
}
