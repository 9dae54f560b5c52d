import { dialectOf } from '../dialect/dialect.ts';
import type { Mapper } from './mapper.ts';

/**
 * Makes a table of the framework's own that was missing. Processes that need it at the same time wait for one another.
 */
export async function makeTable(mapper: Mapper, table: string, statements: readonly string[]): Promise<void> {
  // a request that needs it has committed nothing of its own yet, and so nobody is told of this commit
  await mapper.em.fork({ freshEventManager: true }).transactional(async (em) => {
    await dialectOf(mapper).schema.lockTable(em, table);
    for (const sql of statements) await em.execute(sql);
  });
}
