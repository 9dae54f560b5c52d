import { databaseKindOf, type Mapper } from './mapper.ts';

/**
 * Makes a table of the framework's own that was missing. Processes that need it at the same time wait for one another:
 * PostgreSQL takes it for a conflict where two make one table or index at once, in spite of "if not exists".
 */
export async function makeTable(mapper: Mapper, table: string, statements: readonly string[]): Promise<void> {
  // a request that needs it has committed nothing of its own yet, and so nobody is told of this commit
  await mapper.em.fork({ freshEventManager: true }).transactional(async (em) => {
    if (databaseKindOf(mapper) === 'postgresql') {
      await em.execute('select pg_advisory_xact_lock(hashtext(?), hashtext(current_schema()))', [table]);
    }
    for (const sql of statements) await em.execute(sql);
  });
}
