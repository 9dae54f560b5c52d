import { FlushMode, helper } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { entityKey } from '../model/identifier.ts';
import { hasKey } from '../model/key-condition.ts';
import { isSameVersion, type RowVersion, readVersion } from '../query/rows/row-version.ts';

/** The result of rereading an entity. */
export interface RereadEntity {
  readonly version: RowVersion;
  /** Whether its values differ from those before. */
  readonly isChanged: boolean;
}

/** Rereads an entity's row, with a lock until the transaction ends or without one. Returns null if it no longer exists. */
export async function rereadEntity(
  mapper: Mapper,
  em: RequestEntityManager,
  entity: object,
  lock: boolean,
): Promise<RereadEntity | null> {
  const meta = metaOfEntity(mapper, entity);
  const wrapped = helper(entity);
  const version = await readVersion(mapper, em, meta, entityKey(entity), { lock });
  if (!version) return null;
  const before = valuesOf(wrapped.__originalEntityData);
  // MikroORM's own refresh converts the row to JSON and back, which not every type survives
  const read = await em.findOne(meta.class, hasKey(meta, entityKey(entity)), {
    refresh: true,
    flushMode: FlushMode.COMMIT,
  } as never);
  if (read !== entity || !wrapped.isInitialized()) return null;
  return { version, isChanged: !isSameVersion(before, valuesOf(wrapped.__originalEntityData)) };
}

function valuesOf(data: unknown): unknown[] {
  const entries = Object.entries((data ?? {}) as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(
    ([name, value]) => `${name} ${JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item))}`,
  );
}
