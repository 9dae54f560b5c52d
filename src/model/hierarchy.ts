import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { isMadePivot } from '../database/orm/made-pivot.ts';

/** A model's class, made by MikroORM or by the application. */
export type ModelClass = abstract new (...args: never[]) => object;

const entities = new WeakMap<Mapper, readonly EntityMetadata[]>();

/** Every entity of the application, without embeddables and without the mapper's own pivot tables. */
export function entitiesOf(mapper: Mapper): readonly EntityMetadata[] {
  let found = entities.get(mapper);
  if (found === undefined) {
    const all = [...mapper.getMetadata().getAll().values()];
    found = all.filter((meta) => !meta.embeddable && !isMadePivot(meta) && !meta.virtual);
    entities.set(mapper, found);
  }
  return found;
}

/**
 * The metadata of an entity's class in the mapper of this application. The entity itself refers to the mapper that was created
 * last, which is another one if two applications in one process share a model.
 */
export function metaOfEntity(mapper: Mapper, entity: object): EntityMetadata {
  return mapper.getMetadata().get((entity as { __meta: EntityMetadata }).__meta.class as never) as EntityMetadata;
}

/** The metadata of a model, given as an application exports it. */
export function metaOf(mapper: Mapper, model: unknown): EntityMetadata {
  return mapper.getMetadata().get(model as never) as EntityMetadata;
}

export function isKindOf(meta: EntityMetadata, ancestor: EntityMetadata): boolean {
  return meta.class === ancestor.class || meta.class.prototype instanceof ancestor.class;
}

/** Whether one of the two inherits from the other, or they are the same. */
export function sameLine(a: EntityMetadata, b: EntityMetadata): boolean {
  return isKindOf(a, b) || isKindOf(b, a);
}

/** The classes that a row of `meta` can have: itself and its descendants, without the abstract ones. */
export function concreteClasses(mapper: Mapper, meta: EntityMetadata): EntityMetadata[] {
  return entitiesOf(mapper).filter((candidate) => isKindOf(candidate, meta) && !candidate.abstract);
}

/** Whether the rows of a class cannot be of another class. Metadata is compared by class: that of a property's target is a copy. */
export function isOfOneClass({ class: own, inheritanceType, root }: EntityMetadata): boolean {
  return root.class === own && !root.discriminatorMap && inheritanceType === undefined;
}

/** Whether each class of a hierarchy has its own table, so that a row is spread over several tables. */
export function isTablePerType(meta: EntityMetadata): boolean {
  return meta.inheritanceType === 'tpt' || meta.root.inheritanceType === 'tpt';
}

/** Whether the rows of a model have a discriminator for their class. With a table for each class, the table decides. */
export function hasDiscriminator(meta: EntityMetadata): boolean {
  return meta.root.discriminatorMap !== undefined && meta.root.inheritanceType !== 'tpt';
}

/** The property that holds the discriminator, if the model has one. */
export function discriminatorProperty(meta: EntityMetadata): string | null {
  return hasDiscriminator(meta) ? String(meta.root.discriminatorColumn) : null;
}

/** The `type` of a class: its discriminator value, or its name in snake case. */
export function typeOf(meta: EntityMetadata): string {
  if (hasDiscriminator(meta) && meta.discriminatorValue !== undefined) return String(meta.discriminatorValue);
  return modelName(meta);
}

/** The name of a model in messages: `third_party`. */
export function modelName(meta: EntityMetadata): string {
  return meta.className
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
