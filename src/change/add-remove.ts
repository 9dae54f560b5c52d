import { Collection, type EntityMetadata, Reference } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import { markUnchanged } from '../query/entities/hold-row.ts';
import { loadAgain } from '../query/entities/populate-steps.ts';
import { isEntity } from '../serialization/serializer.ts';
import { type Accessors, wronglyHeld } from './accessors.ts';

/** The entity to return, and whether anything was changed. */
export interface AddedOrRemoved {
  readonly returned: object;
  readonly changed: boolean;
}

/**
 * Loads the collections that the methods of the model read. It must run inside a transaction that holds the lock on the entity's
 * row: then requests that add the same item at the same time wait, find it there, and change nothing.
 */
export async function loadTouched(em: RequestEntityManager, entity: object, item: object, accessors: Accessors): Promise<void> {
  for (const property of accessors.touches) await loadAgain(em, entity, property);
  markUnchanged(em, [entity, item, ...itemsOf(entity, accessors.touches)]);
}

/**
 * Adds an item to an association whose items are loaded, or removes it. Returns the result of the model's method if that is an
 * entity, else the item. An item that is there is not added, and one that is not there is not removed: then no code of the model
 * is called.
 */
export async function addOrRemove(
  entity: object,
  item: object,
  accessors: Accessors,
  verb: 'add' | 'remove',
): Promise<AddedOrRemoved> {
  const isThere = accessors.contains(entity, item);
  if (isThere === (verb === 'add')) return { returned: item, changed: false };
  const returned = Reference.unwrapReference((await accessors.change(verb, entity, item)) as object);
  if (accessors.methods[verb]) refuseWronglyHeld(entity, accessors.methods[verb]);
  return { returned: isEntity(returned) ? (returned as object) : item, changed: true };
}

function refuseWronglyHeld(entity: object, method: string): void {
  const { __meta: meta } = entity as { __meta: EntityMetadata };
  const wrong = wronglyHeld(meta, entity);
  if (!wrong) return;
  const given = `${meta.className}.${method} put a ${wrong.item.constructor.name} into "${wrong.property}"`;
  throw new TypeError(`${given}, which holds ${wrong.holds.join(', ')}`);
}

function itemsOf(entity: object, properties: readonly string[]): object[] {
  return properties.flatMap((property) => {
    const collection = (entity as Record<string, unknown>)[property];
    return collection instanceof Collection ? (collection.getItems(false) as object[]) : [];
  });
}
