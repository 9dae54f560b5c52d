import { Collection, type EntityMetadata, type EntityProperty, EventType, helper, ReferenceKind, Utils } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';

/** The length of a list from which it is assigned in several turns of the event loop, and the items of one of them. */
const chunkSize = 250;

/** A loaded collection, and the items that replace its own. */
interface LongList {
  readonly collection: Collection<object>;
  readonly items: readonly object[];
}

/** Creates an entity, in several turns if a list is long. */
export async function createInTurns(
  em: RequestEntityManager,
  meta: EntityMetadata,
  values: Record<string, unknown>,
): Promise<object> {
  const create = (own: Record<string, unknown>) => em.create(meta.class, own as never, { partial: true } as never) as object;
  const long = Object.entries(values).filter(([, items]) => Array.isArray(items) && items.length >= chunkSize);
  // code that runs while the entity is created gets all values
  if (long.length === 0 || meta.constructorParams?.length || em.getEventManager().hasListeners(EventType.onInit, meta))
    return create(values);
  const names = long.map(([name]) => name);
  const entity = create(Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))));
  await assignInTurns(em, entity, Object.fromEntries(long), {});
  return entity;
}

/** Assigns values to an entity, in several turns if a list is long. */
export async function assignInTurns(
  em: RequestEntityManager,
  entity: object,
  values: Record<string, unknown>,
  options: object,
): Promise<void> {
  const long = withoutLongLists(entity, values);
  const embedded = withoutEmbeddedLists(entity, values);
  em.assign(entity as never, values as never, options as never);
  await assignLong(long);
  for (const [name, items] of embedded) {
    for (const item of items) {
      if (isTurnLong()) await nextTurn();
      // MikroORM adds an item that is not within a list
      em.assign(entity as never, { [name]: item } as never, options as never);
    }
  }
}

/** Leaves the lists of embedded objects empty in the values that are assigned to an entity, and returns the long ones. */
function withoutEmbeddedLists(entity: object, values: Record<string, unknown>): [name: string, items: readonly object[]][] {
  const properties = helper(entity).__meta.properties as Record<string, EntityProperty>;
  const lists = Object.entries(values).filter(([name, items]) => {
    const isList = Array.isArray(items) && properties[name]?.kind === ReferenceKind.EMBEDDED;
    return isList && items.length >= chunkSize && items.every((item) => typeof item === 'object' && item !== null);
  }) as [string, readonly object[]][];
  for (const [name] of lists) values[name] = [];
  return lists;
}

/** Takes the long lists out of the values that are assigned to an entity. */
function withoutLongLists(entity: object, values: Record<string, unknown>): LongList[] {
  const lists: LongList[] = [];
  for (const [name, items] of Object.entries(values)) {
    if (!Array.isArray(items)) continue;
    const collection = (entity as Record<string, unknown>)[name];
    if (!(collection instanceof Collection) || !collection.isInitialized()) continue;
    if (collection.length + items.length < chunkSize || !items.every((item) => Utils.isEntity(item))) continue;
    lists.push({ collection, items });
    delete values[name];
  }
  return lists;
}

/** Replaces the items of lists as MikroORM does, which takes all in one turn. */
async function assignLong(lists: readonly LongList[]): Promise<void> {
  for (const { collection, items } of lists) {
    const stored = collection.getItems(false);
    if (stored.length === items.length && stored.every((item, i) => item === items[i])) continue;
    for (let start = 0; start < stored.length; start += chunkSize) {
      if (isTurnLong()) await nextTurn();
      collection.remove(stored.slice(start, start + chunkSize) as never);
    }
    for (let start = 0; start < items.length; start += chunkSize) {
      if (isTurnLong()) await nextTurn();
      collection.add(items.slice(start, start + chunkSize) as never);
    }
  }
}
