import { Collection, type EntityMetadata, type EntityProperty, helper, ReferenceKind } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { isComposite } from '../model/identifier.ts';
import { databaseKey } from '../model/key-condition.ts';
import { versionOf } from '../model/version.ts';
import type { Pivot } from '../query/rows/association.ts';
import { LongWork } from '../response/turn.ts';
import { pivotFor } from './plain-pivot.ts';
import { flushReason } from './unit-of-work.ts';

/** Comparisons of items that a flush makes within a millisecond. */
const fewComparisons = 10_000;

/** Links that are written by one statement. */
const chunkSize = 250;

/**
 * Writes the links of an entity whose lists are long, and marks them as written. A flush would compare each item with all others,
 * in one turn of the event loop. Must run in the transaction of the flush.
 */
export async function writeLongLists(mapper: Mapper, em: RequestEntityManager, entity: object): Promise<void> {
  const meta = helper(entity).__meta as EntityMetadata;
  if (isComposite(meta)) return;
  for (const property of meta.relations as EntityProperty[]) {
    if (property.kind !== ReferenceKind.MANY_TO_MANY || !property.owner || property.orphanRemoval) continue;
    const collection = (entity as Record<string, unknown>)[property.name as string];
    if (!(collection instanceof Collection) || !collection.isInitialized() || !collection.isDirty()) continue;
    const before = collection.getSnapshot() as object[] | undefined;
    const after = collection.getItems(false) as object[];
    if (!before || before.length * after.length <= fewComparisons || !after.every(isStored)) continue;
    const pivot = pivotFor(mapper, meta, property);
    const target = property.targetMeta as EntityMetadata;
    // a flush gives the entity a new version if it finds a changed list
    if (!pivot || isComposite(target) || versionOf(meta) || flushReason(mapper, meta)) continue;
    const [owner] = keyOf(em, meta, entity);
    await replaceLinks(em, pivot, owner, {
      removed: without(before, after).map((item) => keyOf(em, target, item)[0]),
      added: without(after, before).map((item) => keyOf(em, target, item)[0]),
    });
    collection.takeSnapshot();
  }
}

async function replaceLinks(
  em: RequestEntityManager,
  { item: [item], owner: [owner], table }: Pivot,
  key: unknown,
  { added, removed }: { readonly added: readonly unknown[]; readonly removed: readonly unknown[] },
): Promise<void> {
  const work = new LongWork();
  const inChunks = async (keys: readonly unknown[], write: (some: readonly unknown[]) => Promise<unknown>) => {
    for (let from = 0; from < keys.length; from += chunkSize) {
      if (work.isDue) await work.pause();
      await write(keys.slice(from, from + chunkSize));
    }
  };
  await inChunks(removed, (some) => {
    const list = some.map(() => '?').join(', ');
    return em.execute(`delete from ${table} where ${owner} = ? and ${item} in (${list})`, [key, ...some], 'run');
  });
  await inChunks(added, (some) => {
    const rows = some.map(() => '(?, ?)').join(', ');
    const keys = some.flatMap((each) => [key, each]);
    return em.execute(`insert into ${table} (${owner}, ${item}) values ${rows}`, keys, 'run');
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

function keyOf(em: RequestEntityManager, meta: EntityMetadata, entity: object): unknown[] {
  return databaseKey(meta, em.getPlatform(), helper(entity).getPrimaryKey());
}
