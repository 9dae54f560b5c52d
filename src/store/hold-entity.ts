import { FlushMode, helper } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { isSameVersion, readVersion } from '../query/rows/row-version.ts';

/**
 * Locks an entity's row until the transaction ends and reads it anew: `same` or `changed`, compared with the entity as it was. Null: it
 * is gone.
 */
export async function holdEntity(mapper: Mapper, em: RequestEntityManager, entity: object): Promise<'same' | 'changed' | null> {
  const meta = metaOfEntity(mapper, entity);
  const wrapped = helper(entity);
  if (!(await readVersion(mapper, em, meta, wrapped.getPrimaryKey() as Identifier, true))) return null;
  const before = valuesOf(wrapped.__originalEntityData);
  // MikroORM's own refresh makes JSON of the row on the way, which not every type survives
  const where = { [keyOf(meta).name]: wrapped.getPrimaryKey() };
  const read = await em.findOne(meta.class, where as never, { refresh: true, flushMode: FlushMode.COMMIT } as never);
  if (read !== entity || !wrapped.isInitialized()) return null;
  return isSameVersion(before, valuesOf(wrapped.__originalEntityData)) ? 'same' : 'changed';
}

function valuesOf(data: unknown): unknown[] {
  const entries = Object.entries((data ?? {}) as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(
    ([name, value]) => `${name} ${JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item))}`,
  );
}
