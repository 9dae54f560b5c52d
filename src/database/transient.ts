import { setTimeout as sleep } from 'node:timers/promises';
import { databaseErrors } from '../dialect/errors.ts';

/** How often work is done in all before its failure is told. */
export const mostAttempts = 4;

/**
 * Whether a transaction was undone only because another one was in its way, a serialization failure or a deadlock: the same
 * work is likely to succeed when it is done again. Who merely has to wait for another does so before this comes up.
 */
export function isTransient(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth++) {
    if (databaseErrors.isTransient(cause)) return true;
    cause = cause.cause ?? (cause as { previous?: unknown }).previous;
  }
  return false;
}

/** Waits before the next attempt; those who were in each other's way do not come back at the same time. */
export function pauseAfter(attempt: number): Promise<void> {
  return sleep(5 * 4 ** (attempt - 1) * (0.5 + Math.random()));
}

/** Does work again that failed and was undone as a whole, as long as others were in its way; throws its error where they were not. */
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
