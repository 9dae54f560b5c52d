import { setTimeout as sleep } from 'node:timers/promises';
import { databaseErrors } from '../dialect/errors.ts';

/** The maximum number of attempts before an error is thrown. */
export const mostAttempts = 4;

/**
 * Whether a transaction was rolled back because of a serialization failure or a deadlock: the same work is likely to succeed
 * when it is retried. Lock waits are over before this check.
 */
export function isTransient(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth++) {
    if (databaseErrors.isTransient(cause)) return true;
    cause = cause.cause ?? (cause as { previous?: unknown }).previous;
  }
  return false;
}

/** Waits before the next attempt. The random part keeps transactions that conflicted from conflicting again. */
export function pauseAfter(attempt: number): Promise<void> {
  return sleep(5 * 4 ** (attempt - 1) * (0.5 + Math.random()));
}

/** Retries work that failed and was rolled back as a whole, as long as its error is transient. */
export async function again<Result>(failure: unknown, work: () => Promise<Result>): Promise<Result> {
  let error = failure;
  for (let attempt = 1; attempt < mostAttempts && isTransient(error); attempt++) {
    await pauseAfter(attempt);
    try {
      return await work();
    } catch (next) {
      error = next;
    }
  }
  throw error;
}
