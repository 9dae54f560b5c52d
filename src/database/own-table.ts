import { TableNotFoundException } from '@mikro-orm/core';
import { dialectOf } from '../dialect/dialect.ts';
import { databaseErrors } from '../dialect/errors.ts';
import type { Mapper } from './mapper.ts';

/**
 * A table of the framework's own. The returned function says whether it exists, and creates it with the first request that needs it.
 *
 * @param statements Create the table; null if it must not be created.
 */
export function ownTable(mapper: Mapper, name: string, statements: readonly string[] | null): () => Promise<boolean> {
  let existence: Promise<boolean> | null = null;
  return async () => {
    existence ??= findOrCreate(mapper, name, statements);
    let exists = false;
    try {
      exists = await existence;
    } finally {
      if (!exists) existence = null;
    }
    return exists;
  };
}

/** Processes that need the table at the same time wait for one another. */
async function findOrCreate(mapper: Mapper, name: string, statements: readonly string[] | null): Promise<boolean> {
  try {
    await mapper.em.fork().execute(`select 1 from ${name} limit 1`);
    return true;
  } catch (error) {
    if (!(error instanceof TableNotFoundException)) throw error;
  }
  if (statements === null) return false;
  try {
    // the request has committed nothing of its own yet, so its subscribers do not hear of this commit
    await mapper.em.fork({ freshEventManager: true }).transactional(async (em) => {
      await dialectOf(mapper).schema.lockTable(em, name);
      for (const sql of statements) await em.execute(sql);
    });
    return true;
  } catch (error) {
    if (databaseErrors.isForbidden(error)) return false;
    throw error;
  }
}
