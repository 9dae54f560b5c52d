/** Ends the explanation of a write before anything is changed. */
export class Stopped extends Error {
  /** What comes next: the application's own handler, the body, or the change. */
  readonly before: 'handler' | 'body' | 'change';

  constructor(before: Stopped['before']) {
    super(`stopped before the ${before}`);
    this.before = before;
  }
}

/** The codes for a change that the database was asked to refuse: SQLite's and PostgreSQL's. */
const readOnlyCodes: readonly unknown[] = [8, '25006'];

/** Whether the database refused to change something because it was opened to be read. */
export function isReadOnlyError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errcode } = cause as Error & { code?: unknown; errcode?: unknown };
    if (readOnlyCodes.includes(code) || readOnlyCodes.includes(Number(errcode) & 0xff)) return true;
  }
  return false;
}
