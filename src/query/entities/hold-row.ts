import { helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';

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
