import { AsyncLocalStorage } from 'node:async_hooks';
import { EntityComparator, type EntityMetadata, type EntityProperty, helper, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';

/** Whether code of the application is running, for which missing data must not look like data. */
const running = new AsyncLocalStorage<boolean>();

/** Runs code of the application in which reading what was not loaded throws. */
export function withLoadedData<Result>(work: () => Result): Result {
  return running.run(true, work);
}

/** Names what is missing, and what to do. */
export function notLoaded(meta: EntityMetadata, name: string): Error {
  return new Error(
    `${meta.className}.${name} was not loaded: name the association that leads to it in the voter (static loads = ['captain']), ` +
      'make it eager(), or await wrap(…).init() on it before you read it',
  );
}

// MikroORM itself reads all values of every entity, to know what was changed
const { prepareEntity } = EntityComparator.prototype;
EntityComparator.prototype.prepareEntity = function (entity) {
  return running.getStore() ? running.run(false, () => prepareEntity.call(this, entity)) : prepareEntity.call(this, entity);
};

/**
 * Lets references of which only the key is known throw while code of the application runs. MikroORM puts a setter for every property on the
 * prototype of an entity, which stays until the property is set; this adds a getter to it.
 */
export function guardUnloaded(mapper: Mapper): void {
  for (const meta of mapper.getMetadata().getAll().values()) {
    if (meta.embeddable || meta.virtual || !meta.prototype) continue;
    for (const property of Object.values(meta.properties) as EntityProperty[]) guardProperty(meta, property);
  }
}

function guardProperty(meta: EntityMetadata, { kind, name }: EntityProperty): void {
  // MikroORM follows associations from entity to entity on its own
  if (kind !== ReferenceKind.SCALAR && kind !== ReferenceKind.EMBEDDED) return;
  const descriptor = Object.getOwnPropertyDescriptor(meta.prototype, name);
  if (!descriptor?.set || descriptor.get || !descriptor.configurable) return;
  Object.defineProperty(meta.prototype, name, {
    ...descriptor,
    get(this: object) {
      if (running.getStore() && isUnloaded(this)) throw notLoaded(meta, name as string);
      return undefined;
    },
  });
}

/** Whether nothing but the key of a row is known. */
function isUnloaded(entity: object): boolean {
  return Object.hasOwn(entity, '__helper') && !helper(entity).__initialized;
}
