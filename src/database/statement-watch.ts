import type { OnStatement } from './statements-of.ts';

/** Is told of the statements of an application, by whoever sends them. */
export interface StatementWatch {
  /** One is about to be sent. */
  readonly sent?: OnStatement | undefined;
  /** The database has answered one, after so many milliseconds. */
  readonly answered?: (took: number, isFailure: boolean) => void;
  /**
   * Somebody begins to wait for what a statement gives, or for several that are sent together; what comes back is called when they
   * have it. Those who share what one execution gives all wait.
   */
  readonly waits?: (text: string) => (error?: unknown) => void;
}

/** Promised rows, with those told who want to know when they are there. */
export function awaited<Result>(watch: StatementWatch, text: string, send: () => Promise<Result>): Promise<Result> {
  const end = watch.waits?.(text);
  if (!end) return send();
  let sent: Promise<Result>;
  try {
    sent = send();
  } catch (error) {
    end(error);
    throw error;
  }
  sent.then(() => end(), end);
  return sent;
}

/** What a connection sends at once, with those told who count. */
export function timed<Result>(answered: NonNullable<StatementWatch['answered']>, send: () => Result): Result {
  const start = performance.now();
  let isFailure = true;
  try {
    const result = send();
    isFailure = false;
    return result;
  } finally {
    answered(performance.now() - start, isFailure);
  }
}

/** What a connection sends and gets an answer to later. */
export async function timedAsync<Result>(
  { answered }: StatementWatch,
  send: () => Result | Promise<Result>,
): Promise<Awaited<Result>> {
  if (!answered) return await send();
  const start = performance.now();
  try {
    const result = await send();
    answered(performance.now() - start, false);
    return result;
  } catch (error) {
    answered(performance.now() - start, true);
    throw error;
  }
}
