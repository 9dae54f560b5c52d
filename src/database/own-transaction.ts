import { AsyncLocalStorage } from 'node:async_hooks';

/** Milliseconds after which a write within a transaction fails if it waits for that very transaction. */
const patience = 1000;

interface Scope {
  isOpen: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();

/**
 * Runs work within a transaction that is around the whole of it. SQLite has one writer at a time: whoever writes from within
 * such work by another connection would wait for itself, and everybody else for both.
 */
export async function withinTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const scope = { isOpen: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.isOpen = false;
  }
}

/** Milliseconds that the caller may wait for the right to write; null: as long as it takes. */
export function patienceHere(): number | null {
  return scopes.getStore()?.isOpen ? patience : null;
}

export function waitsForItself(): Error {
  return new Error(
    'this code waits for its own transaction and would never end: a request with an Idempotency-Key is one transaction, so write with ' +
      'the entity manager of the request, or with a fork of it that has { keepTransactionContext: true }',
  );
}
