import { Collection, Utils } from '@mikro-orm/core';
import { LongWork } from '../response/turn.ts';

/** The length of a list from which it is assigned in several turns of the event loop, and the items of one of them. */
const chunkSize = 500;

/** A loaded collection, and the items that replace its own. */
interface LongList {
  readonly collection: Collection<object>;
  readonly items: readonly object[];
}

/** Takes the long lists out of the values that are assigned to an entity. */
export function withoutLongLists(entity: object, values: Record<string, unknown>): LongList[] {
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
export async function assignLong(lists: readonly LongList[]): Promise<void> {
  const work = new LongWork();
  for (const { collection, items } of lists) {
    const stored = collection.getItems(false);
    if (stored.length === items.length && stored.every((item, i) => item === items[i])) continue;
    for (let start = 0; start < stored.length; start += chunkSize) {
      collection.remove(stored.slice(start, start + chunkSize) as never);
      if (work.isDue) await work.pause();
    }
    for (let start = 0; start < items.length; start += chunkSize) {
      collection.add(items.slice(start, start + chunkSize) as never);
      if (work.isDue) await work.pause();
    }
  }
}
