import { type Collection, type EventSubscriber, type FlushEventArgs, helper } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { versionOf } from '../model/version.ts';
import { subscribe, VersionSubscriber } from './version-subscriber.ts';

/** Entities whose links count as changes of their own. */
const counted = new WeakSet<object>();

/**
 * From now on, adding an item to a to-many of this entity, or removing one, makes a new version of the entity. That applies to
 * the entity of a request, and not to entities that it links: their rows are not locked, and they were not changed.
 */
export function countLinksOf(entity: object): void {
  counted.add(entity);
}

/** Makes every flush count the links of those entities. The mapper itself makes a new version only if a column changed. */
export function countLinks(mapper: Mapper): void {
  subscribe(mapper, LinkCounter);
}

/** Entities with changed links that a flush does not see. */
const noted = new WeakMap<object, Set<object>>();

/** Makes the next flush count the links of an entity, because it does not see them itself. */
export function noteLinkChange(uow: object, owner: object): void {
  noted.set(uow, (noted.get(uow) ?? new Set()).add(owner));
}

class LinkCounter extends VersionSubscriber implements EventSubscriber {
  onFlush({ uow }: FlushEventArgs): void {
    const updates = (uow.getCollectionUpdates() as Collection<object>[]).filter(isLinkChange);
    const owners = new Set([...updates.map(({ owner }) => owner as object), ...(noted.get(uow) ?? [])]);
    noted.delete(uow);
    if (owners.size === 0) return;
    const written = new Set(uow.getChangeSets().map(({ entity }) => entity as object));
    for (const owner of owners) if (!written.has(owner)) touch(uow, owner);
  }
}

/** Whether a list has other items than in the database, and its entity gets a new version for that. */
export function isLinkChange(list: Collection<object>): boolean {
  const { owner } = list as { owner: object };
  return list.isDirty() && counted.has(owner) && versionOf(helper(owner).__meta) !== null && isChanged(list);
}

/** Whether items were added or removed. True for a collection that was not loaded, because its items are not known. */
function isChanged(collection: Collection<object>): boolean {
  const before = collection.getSnapshot();
  if (!before) return true;
  const after = new Set(collection.getItems(false));
  return before.length !== after.size || before.some((item) => !after.has(item));
}

/** Makes the mapper update a row without changed columns: one column is set to its own value, so that the version is set too. */
function touch(uow: FlushEventArgs['uow'], entity: object): void {
  const wrapped = helper(entity);
  const original = wrapped.__originalEntityData as Record<string, unknown>;
  const columns = wrapped.__meta.comparableProps.filter(({ name }) => original[name] !== undefined);
  const isNull = ({ name }: { name: string }) => original[name] === null;
  // some databases reject an update of a key that they count up by themselves
  const others = columns.filter(({ generated, primary }) => !primary && !generated);
  const column = others.find((each) => !isNull(each)) ?? others[0] ?? columns[0];
  const other = column && isNull(column) ? true : undefined;
  wrapped.__originalEntityData = { ...original, [String(column?.name)]: other } as never;
  uow.computeChangeSet(entity);
  const change = uow.getChangeSets().find((each) => each.entity === entity);
  if (!change) throw new Error(`${wrapped.__meta.className} cannot be given a new version`);
  change.originalEntity = original as never;
}
