/** Rows, the elapsed milliseconds, and the cost in milliseconds: see {@link Stopwatch}. */
export interface ReadResult {
  readonly rows: unknown[];
  readonly took: number;
  readonly cost: number;
  /** Whether more rows follow, which must be asked for. */
  readonly isPart?: true;
}

/** Asks for the next rows of a result that came in part. */
export const nextPart = 'next part';

/**
 * `opened` is sent first, when the file is open. `stopped` and `too large` are sent instead of rows that exceed a limit of the
 * question.
 */
export type ThreadMessage =
  | 'opened'
  | 'stopped'
  | 'too large'
  | ReadResult
  | { readonly error: { readonly message: string; readonly properties: object } };
