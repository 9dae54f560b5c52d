import type { RequestEntityManager } from '../database/mapper.ts';

/**
 * Runs work in a transaction of the request's own entity manager: committed when the work is done, rolled back if it throws.
 * Inside another transaction it is a savepoint.
 */
export async function inTransaction<Result>(
  em: RequestEntityManager,
  work: () => Promise<Result>,
  commit = () => em.commit(),
): Promise<Result> {
  const outer = em.getTransactionContext();
  await em.begin(outer ? { ctx: outer } : {});
  try {
    const result = await work();
    await commit();
    return result;
  } catch (error) {
    // the first error is the one to report
    await em.rollback().catch(() => undefined);
    throw error;
  } finally {
    if (outer) em.setTransactionContext(outer);
  }
}
