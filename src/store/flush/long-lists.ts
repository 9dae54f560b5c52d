import { type Collection, type EntityMetadata, type EntityProperty, helper, ReferenceKind } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { isComposite } from '../../model/identifier.ts';
import { databaseKey } from '../../model/key-condition.ts';
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
  if (isComposite(meta) || isComposite(property.targetMeta as EntityMetadata)) return null;
  const before = list.getSnapshot() as object[] | undefined;
  const after = list.getItems(false) as object[];
  const pivot = pivotFor(mapper, meta, property);
  if (!before || !pivot || !after.every(isStored)) return null;
  return { owner, pivot, removed: without(before, after), added: without(after, before) };
}

/** Writes changed links. A flush would compare each item with all others, in one turn of the event loop. */
export async function writeLinks(em: RequestEntityManager, { added, owner: entity, pivot, removed }: LongLinks): Promise<void> {
  const [[item], [owner], table] = [pivot.item, pivot.owner, pivot.table];
  const key = keyOf(em, entity);
  const inChunks = async (items: readonly object[], write: (keys: readonly unknown[]) => Promise<unknown>) => {
    for (let from = 0; from < items.length; from += chunkSize) {
      if (isTurnLong()) await nextTurn();
      await write(items.slice(from, from + chunkSize).map((each) => keyOf(em, each)));
    }
  };
  await inChunks(removed, (keys) => {
    const list = keys.map(() => '?').join(', ');
    return em.execute(`delete from ${table} where ${owner} = ? and ${item} in (${list})`, [key, ...keys], 'run');
  });
  await inChunks(added, (keys) => {
    const rows = keys.map(() => '(?, ?)').join(', ');
    const values = keys.flatMap((each) => [key, each]);
    return em.execute(`insert into ${table} (${owner}, ${item}) values ${rows}`, values, 'run');
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

function keyOf(em: RequestEntityManager, entity: object): unknown {
  const [key] = databaseKey(helper(entity).__meta as EntityMetadata, em.getPlatform(), helper(entity).getPrimaryKey());
  return key;
}
