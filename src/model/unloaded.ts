import {
  EntityAssigner,
  EntityComparator,
  EntityFactory,
  EntityHelper,
  EntityLoader,
  type EntityMetadata,
  type EntityProperty,
  EntitySerializer,
  EntityTransformer,
  helper,
  ObjectHydrator,
  UnitOfWork,
} from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { running, runWith } from './running-code.ts';

/** Runs code of the application, which must not take data that was not loaded for empty data: reading it throws. */
export function withLoadedData<Result>(work: () => Result): Result {
  return runWith(running().as(true), work);
}

export function notLoaded(meta: EntityMetadata, name: string): Error {
  return new Error(
    `${meta.className}.${name} was not loaded: list its association in the voter (static loads = ['captain']), ` +
      'make it eager(), or await wrap(…).init() on it before you read it',
  );
}

/** Lets a method of MikroORM read values that were not loaded: to know what was changed, to write it, and to fill entities. */
function letRead<Name extends string>(owner: Record<Name, (...args: never[]) => unknown>, name: Name): void {
  const method = owner[name] as (...args: unknown[]) => unknown;
  owner[name] = function (this: unknown, ...args: unknown[]) {
    return runWith(running().as(false), () => method.apply(this, args));
  };
}

letRead(EntityComparator.prototype, 'prepareEntity');
letRead(UnitOfWork.prototype, 'commit');
letRead(UnitOfWork.prototype, 'computeChangeSets');
letRead(UnitOfWork.prototype, 'lock');
letRead(UnitOfWork.prototype as unknown as { cascade(): void }, 'cascade');
letRead(EntityAssigner, 'assign');
letRead(EntityHelper, 'propagate');
letRead(EntityLoader.prototype, 'populate');
letRead(EntityTransformer, 'toObject');
letRead(EntitySerializer, 'serialize');
letRead(EntityFactory.prototype, 'create');
letRead(EntityFactory.prototype, 'assignDefaultValues');
letRead(ObjectHydrator.prototype, 'hydrate');
letRead(ObjectHydrator.prototype, 'hydrateReference');

/**
 * Makes references that have only their key throw while code of the application reads them. MikroORM puts a setter for every
 * property on the prototype of an entity, which stays until the property is set; this adds a getter to it.
 */
export function guardUnloaded(mapper: Mapper): void {
  for (const meta of mapper.getMetadata().getAll().values()) {
    if (meta.embeddable || meta.virtual || !meta.prototype) continue;
    for (const property of Object.values(meta.properties) as EntityProperty[]) guardProperty(meta, property);
  }
}

function guardProperty(meta: EntityMetadata, { name }: EntityProperty): void {
  const descriptor = Object.getOwnPropertyDescriptor(meta.prototype, name);
  if (!descriptor?.set || descriptor.get || !descriptor.configurable) return;
  Object.defineProperty(meta.prototype, name, {
    ...descriptor,
    get(this: object) {
      if (running().isApplication && isUnloaded(this)) throw notLoaded(meta, name as string);
      return undefined;
    },
  });
}

/** Whether only the key of a row is known. */
function isUnloaded(entity: object): boolean {
  return Object.hasOwn(entity, '__helper') && !helper(entity).__initialized;
}
