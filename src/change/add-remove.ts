import { Collection, type EntityMetadata, FlushMode, helper, Reference } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import { keyOf } from '../model/identifier.ts';
import { holdRow, takeAsRead } from '../query/hold-row.ts';
import { isEntity } from '../serialization/serializer.ts';
import type { Accessors } from './accessors.ts';

/**
 * Adds an item to, or removes it from, an association, and gives what the model's method returned where that is an
 * entity, else the item.
 *
 * It must run inside a transaction that holds the entity's row (see {@link lockRow}): then whoever adds the same item at
 * the same time waits, finds it there, and changes nothing.
 */
export async function addOrRemove(
  em: RequestEntityManager,
  entity: object,
  item: object,
  accessors: Accessors,
  what: 'add' | 'remove',
): Promise<object> {
  await em.populate([entity], [...accessors.touches] as never, { refresh: true } as never);
  takeAsRead(em, [entity, item, ...itemsOf(entity, accessors.touches)]);
  const returned = Reference.unwrapReference((await accessors[what](entity, item)) as object);
  return isEntity(returned) ? (returned as object) : item;
}

/** Locks an entity's row until the transaction ends and reads it anew. False: it is gone. */
export async function lockRow(em: RequestEntityManager, entity: object): Promise<boolean> {
  if (!(await holdRow(em, entity))) return false;
  const { __meta: meta } = helper(entity);
  // the mapper's own refresh makes JSON of the row on the way, which not every type survives
  const where = { [keyOf(meta as EntityMetadata).name]: helper(entity).getPrimaryKey() };
  const read = await em.findOne(meta.class, where as never, { refresh: true, flushMode: FlushMode.COMMIT } as never);
  return read === entity && helper(entity).isInitialized();
}

function itemsOf(entity: object, properties: readonly string[]): object[] {
  return properties.flatMap((property) => {
    const collection = (entity as Record<string, unknown>)[property];
    return collection instanceof Collection ? (collection.getItems(false) as object[]) : [];
  });
}

/**
 * Runs work in a transaction of the request's own entity manager: committed when the work is done, undone when it throws.
 * Within a transaction it is a part of that, which can be undone by itself.
 */
export async function inTransaction<Result>(em: RequestEntityManager, work: () => Promise<Result>): Promise<Result> {
  const outer = em.getTransactionContext();
  await em.begin(outer ? { ctx: outer } : {});
  try {
    const result = await work();
    await em.commit();
    return result;
  } catch (error) {
    // what went wrong first is what is told
    await em.rollback().catch(() => undefined);
    throw error;
  } finally {
    if (outer) em.setTransactionContext(outer);
  }
}
