import { callThenEnd } from './promise-like.ts';
import type { OnStatement } from './statements-of.ts';

/** Callbacks for the statements of an application. */
export interface StatementWatch {
  /** A statement is about to be sent. */
  readonly sent?: OnStatement | undefined;
  /** The database has responded to a statement, after `took` milliseconds. */
  readonly answered?: (took: number, isFailure: boolean) => void;
  /**
   * Called when a caller begins to wait for the rows of a statement, or of several that are sent together. The returned function
   * is called when the rows arrive. Of callers that share one execution, each one counts as waiting.
   */
  readonly waits?: (text: string) => (error?: unknown) => void;
}

/** Sends a statement, and reports how long the caller waits for its rows. */
export function awaited<Result>(watch: StatementWatch, text: string, send: () => Promise<Result>): Promise<Result> {
  const end = watch.waits?.(text);
  return end ? callThenEnd(send, end) : send();
}

/** Sends a statement, and reports how long the database takes to respond. */
export function timed<Result>({ answered }: StatementWatch, send: () => Result): Result {
  if (!answered) return send();
  const start = performance.now();
  return callThenEnd(send, (error) => answered(performance.now() - start, error !== undefined));
}
