import { isDeepStrictEqual } from 'node:util';
import { FlushMode, helper } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { entityKey } from '../model/identifier.ts';
import { hasKey } from '../model/key-condition.ts';
import { lazyColumnsOf } from '../query/entities/lazy-columns.ts';
import { type RowVersion, readVersion } from '../query/rows/row-version.ts';

type Values = Readonly<Record<string, unknown>>;

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
  const before = { ...wrapped.__originalEntityData } as Values;
  // MikroORM's own refresh converts the row to JSON and back, which not every type survives
  const read = await em.findOne(meta.class, hasKey(meta, entityKey(entity)), {
    refresh: true,
    populate: lazyColumnsOf(meta, [entity]),
    flushMode: FlushMode.COMMIT,
  } as never);
  if (read !== entity || !wrapped.isInitialized()) return null;
  const after = wrapped.__originalEntityData as Values;
  // MikroORM keeps a value as it was read, or as it was written: a time can be a Date or a number
  const written = em.getComparator().prepareEntity(entity as never) as Values;
  const isChanged = Object.keys({ ...before, ...after }).some(
    (name) => !isDeepStrictEqual(before[name], after[name]) && !isDeepStrictEqual(before[name], written[name]),
  );
  return { version, isChanged };
}
