import { AsyncLocalStorage } from 'node:async_hooks';

/** Milliseconds after which a write within a transaction fails if it waits for that same transaction. */
const selfWaitTimeout = 1000;

interface Scope {
  isOpen: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();

/**
 * Runs work that is one transaction as a whole. SQLite has one writer at a time: if such work wrote through another connection,
 * it would wait for itself and block all other writers.
 */
export async function withinTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const scope = { isOpen: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.isOpen = false;
  }
}

/** Milliseconds that the caller may wait for the write lock; null outside of such a transaction. */
export function ownTransactionTimeout(): number | null {
  return scopes.getStore()?.isOpen ? selfWaitTimeout : null;
}

export function waitsForItself(): Error {
  return new Error(
    'this code waits for its own transaction and would never end: a request with an Idempotency-Key is one transaction, so write with ' +
      'the entity manager of the request, or with a fork of it that has { keepTransactionContext: true }',
  );
}
