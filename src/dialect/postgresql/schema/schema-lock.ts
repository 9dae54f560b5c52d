import type { RequestEntityManager } from '../../../database/mapper.ts';

/**
 * Locks the schema against other processes that change it, until the end of the transaction. A pooler may use a session for
 * other clients after each transaction, so the lock must not outlive it.
 */
export const tryLockSql = "select pg_try_advisory_xact_lock(hashtext('declarest'), hashtext(current_schema())) as free";

/** Milliseconds between two attempts. A process that waited in a transaction would keep a connection of a pooler from others. */
export const lockInterval = 100;

export async function tryLock(em: RequestEntityManager): Promise<boolean> {
  const [row] = await em.execute(tryLockSql);
  return row?.free === true;
}
