import { databaseErrors } from '../dialect/errors.ts';

/** Ends the explanation of a write before anything is changed. */
export class Stopped extends Error {
  /** What comes next: the application's own handler, the body, or the change. */
  readonly before: 'handler' | 'body' | 'change';

  constructor(before: Stopped['before']) {
    super(`stopped before the ${before}`);
    this.before = before;
  }
}

/** Whether the database refused to change something because it was opened to be read. */
export function isReadOnlyError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (databaseErrors.isReadOnly(cause)) return true;
  }
  return false;
}
