import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import { keyOf } from '../model/identifier.ts';

/**
 * Holds an entity's row until the transaction ends, against those who would change or remove it, and not against those who
 * only refer to it. False: it is gone. SQLite has one writer at a time, so that being there is enough.
 */
export async function holdRow(em: RequestEntityManager, entity: object): Promise<boolean> {
  const platform = em.getPlatform();
  const { root } = helper(entity).__meta;
  const quote = (name: string) => platform.quoteIdentifier(name).toString();
  const table = [root.schema, root.tableName]
    .filter((part) => part !== undefined)
    .map((part) => quote(part as string))
    .join('.');
  const column = quote(keyOf(root as EntityMetadata).fieldNames[0] as string);
  const lock = platform.supportsSchemas() ? ' for no key update' : '';
  const rows = await em.execute(`select 1 from ${table} where ${column} = ?${lock}`, [helper(entity).getPrimaryKey(true)]);
  return rows.length > 0;
}

/**
 * Takes entities as they are for what is in the database. The mapper can think a row that it has just read to be changed:
 * PostgreSQL gives back the keys of a JSON object in an order of its own.
 */
export function takeAsRead(em: RequestEntityManager, entities: Iterable<object>): void {
  for (const entity of entities) {
    const wrapped = helper(entity);
    if (wrapped.isInitialized()) wrapped.__originalEntityData = em.getComparator().prepareEntity(entity as never) as never;
  }
}
