import { type Collection, type EntityMetadata, type EntityProperty, helper, ReferenceKind } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { entityKey } from '../../model/identifier.ts';
import { amongAny, databaseKey } from '../../model/key-condition.ts';
import type { Pivot } from '../../query/rows/association.ts';
import { pivotFor } from '../plain-pivot.ts';

/** Links that are written by one statement. */
const chunkSize = 250;

/** The changed links of a many-to-many association. */
export interface LongLinks {
  readonly owner: object;
  readonly pivot: Pivot;
  readonly removed: readonly object[];
  readonly added: readonly object[];
}

/** What has changed in a many-to-many association; null if MikroORM has to write it. */
export function linksOf(mapper: Mapper, owner: object, property: EntityProperty, list: Collection<object>): LongLinks | null {
  if (property.kind !== ReferenceKind.MANY_TO_MANY || !property.owner || property.orphanRemoval) return null;
  const meta = helper(owner).__meta as EntityMetadata;
  // columns of both keys, such as the tenant of both rows
  if (property.joinColumns.some((column) => property.inverseJoinColumns.includes(column))) return null;
  const before = list.getSnapshot() as object[] | undefined;
  const after = list.getItems(false) as object[];
  const pivot = pivotFor(mapper, meta, property);
  if (!before || !pivot || !after.every(isStored)) return null;
  return { owner, pivot, removed: without(before, after), added: without(after, before) };
}

/** Writes changed links. A flush would compare each item with all others, in one turn of the event loop. */
export async function writeLinks(em: RequestEntityManager, { added, owner, pivot, removed }: LongLinks): Promise<void> {
  const { table } = pivot;
  const platform = em.getPlatform();
  const key = keyValues(em, owner);
  const inChunks = async (items: readonly object[], write: (some: readonly object[]) => Promise<unknown>) => {
    for (let from = 0; from < items.length; from += chunkSize) {
      if (isTurnLong()) await nextTurn();
      await write(items.slice(from, from + chunkSize));
    }
  };
  await inChunks(removed, (items) => {
    const ofOwner = pivot.owner.map((column) => `${column} = ?`).join(' and ');
    const { params, sql } = amongAny(
      metaOf(items[0] as object),
      platform,
      pivot.item,
      items.map((item) => entityKey(item)),
    );
    return em.execute(`delete from ${table} where ${ofOwner} and ${sql}`, [...key, ...params], 'run');
  });
  const columns = [...pivot.owner, ...pivot.item];
  const row = `(${columns.map(() => '?').join(', ')})`;
  await inChunks(added, (items) => {
    const values = items.flatMap((item) => [...key, ...keyValues(em, item)]);
    const rows = items.map(() => row).join(', ');
    return em.execute(`insert into ${table} (${columns.join(', ')}) values ${rows}`, values, 'run');
  });
}

function without(items: readonly object[], others: readonly object[]): object[] {
  const known = new Set(others);
  return items.filter((each) => !known.has(each));
}

/** Whether a row exists already: the flush writes new ones. */
function isStored(item: object): boolean {
  const { __initialized, __originalEntityData } = helper(item);
  return __originalEntityData !== undefined || !__initialized;
}

/** The key of an entity as the database takes it, one value for each column. */
function keyValues(em: RequestEntityManager, entity: object): unknown[] {
  return databaseKey(metaOf(entity), em.getPlatform(), entityKey(entity));
}

function metaOf(entity: object): EntityMetadata {
  return helper(entity).__meta as EntityMetadata;
}
