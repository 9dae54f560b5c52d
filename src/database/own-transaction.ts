import { AsyncLocalStorage } from 'node:async_hooks';

/** Milliseconds after which a write within a transaction fails if it waits for that same transaction. */
const selfWaitTimeout = 1000;

const scopes = new AsyncLocalStorage<TransactionScope>();

/**
 * Work that is one transaction. SQLite has one writer at a time: if such work wrote through another connection while its transaction
 * is open, it would wait for itself and block all other writers.
 */
export class TransactionScope {
  #isOpen = false;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Tells that the transaction has begun. Until then, work within the scope waits for other writers as long as everyone. */
  open(): void {
    this.#isOpen = true;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await scopes.run(this, work);
    } finally {
      this.#isOpen = false;
    }
  }
}

/** Runs work within a transaction that has begun. */
export function withinTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const scope = new TransactionScope();
  scope.open();
  return scope.run(work);
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
