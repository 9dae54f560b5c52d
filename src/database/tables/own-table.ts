import { InvalidFieldNameException, TableNotFoundException } from '@mikro-orm/core';
import { dialectOf } from '../../dialect/dialect.ts';
import { databaseErrors } from '../../dialect/errors.ts';
import type { Mapper } from '../mapper.ts';

/**
 * A table of Declarest itself. The returned function says whether it exists, and creates it with the first request that needs it.
 *
 * @param statements Create the table; null if it must not be created.
 * @param later Columns of later versions, and the statements that add them to a table of an earlier version.
 */
export function ownTable(
  mapper: Mapper,
  name: string,
  statements: readonly string[] | null,
  later: LaterColumns = { columns: '1', statements: [] },
): () => Promise<boolean> {
  let existence: Promise<boolean> | null = null;
  return async () => {
    existence ??= findOrCreate(mapper, name, statements, later);
    let exists = false;
    try {
      exists = await existence;
    } finally {
      if (!exists) existence = null;
    }
    return exists;
  };
}

interface LaterColumns {
  /** As in a select. */
  readonly columns: string;
  readonly statements: readonly string[];
}

async function find(mapper: Mapper, name: string, { columns }: LaterColumns): Promise<boolean | 'without columns'> {
  try {
    await mapper.em.fork().execute(`select ${columns} from ${name} limit 1`);
    return true;
  } catch (error) {
    if (error instanceof TableNotFoundException) return false;
    if (error instanceof InvalidFieldNameException) return 'without columns';
    throw error;
  }
}

/** Processes that need the table at the same time wait for one another. */
async function findOrCreate(
  mapper: Mapper,
  name: string,
  statements: readonly string[] | null,
  later: LaterColumns,
): Promise<boolean> {
  const found = await find(mapper, name, later);
  if (found === true || statements === null) return found === true;
  const missing = found === 'without columns' ? [...later.statements, ...statements] : statements;
  try {
    // the request has not committed anything itself, so its subscribers must not be notified of this commit
    await mapper.em.fork({ freshEventManager: true }).transactional(async (em) => {
      await dialectOf(mapper).schema.lockTable(em, name);
      for (const sql of missing) await em.execute(sql);
    });
    return true;
  } catch (error) {
    if (databaseErrors.isForbidden(error)) return false;
    // another process may have added the columns meanwhile
    if (found === 'without columns' && (await find(mapper, name, later)) === true) return true;
    throw error;
  }
}
