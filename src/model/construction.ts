import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ownProperties } from './field-plan.ts';
import { hasAccessor } from './own-code.ts';

/** A property that the constructor or a field initializer of a class has set. */
export interface InitialValue {
  readonly property: EntityProperty;
  readonly value: unknown;
}

/**
 * Makes objects for new rows by the constructor of the class. MikroORM puts accessors for every property on its prototype; a
 * prototype between the two shadows them, so that the properties that the constructor sets are those of the object itself.
 */
export function constructionOf(meta: EntityMetadata): () => Record<string, unknown> {
  const descriptors: PropertyDescriptorMap = {};
  // properties without a column are code of the class
  for (const { name } of storedProperties(meta))
    descriptors[name as string] = { value: undefined, writable: true, enumerable: true, configurable: true };
  function Made() {}
  Made.prototype = Object.create(meta.class.prototype, descriptors);
  return () => Reflect.construct(meta.class, [], Made) as Record<string, unknown>;
}

/** The values of a new object. Empty collections are no values. */
export function initialValues(meta: EntityMetadata, made: Record<string, unknown>): InitialValue[] {
  return storedProperties(meta).flatMap((property) => {
    // the database makes the first version
    if (property.version) return [];
    const value = Object.hasOwn(made, property.name as string) ? made[property.name as string] : undefined;
    return value === undefined || isEmptyCollection(value) ? [] : [{ property, value }];
  });
}

/** Why MikroORM has to construct new entities of a class; null if its constructor can be called for any object. */
export function constructionReason(meta: EntityMetadata, isStored: (value: InitialValue) => boolean): string | null {
  const { className } = meta;
  if (meta.class.length > 0 || (meta.constructorParams?.length ?? 0) > 0) return `the constructor of ${className} has parameters`;
  const accessor = storedProperties(meta).find(({ name }) => hasAccessor(meta, name as string));
  if (accessor) return `${className}.${String(accessor.name)} is an accessor`;
  try {
    const other = initialValues(meta, constructionOf(meta)()).find((value) => !isStored(value));
    return other ? `the class ${className} sets ${String(other.property.name)}, which MikroORM stores` : null;
  } catch (error) {
    return `the constructor of ${className} fails outside MikroORM (${(error as Error)?.message ?? error})`;
  }
}

function storedProperties(meta: EntityMetadata): EntityProperty[] {
  return ownProperties(meta).filter(({ persist }) => persist !== false);
}

function isEmptyCollection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'isInitialized' in value && 'length' in value && value.length === 0;
}
