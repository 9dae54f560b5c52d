import { helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';

/**
 * Marks entities as equal to their rows. MikroORM can take a row that it has just read for changed, because PostgreSQL returns
 * the keys of a JSON object in its own order.
 */
export function markUnchanged(em: RequestEntityManager, entities: Iterable<object>): void {
  for (const entity of entities) {
    const wrapped = helper(entity);
    if (wrapped.isInitialized()) wrapped.__originalEntityData = em.getComparator().prepareEntity(entity as never) as never;
  }
}
