import { type EntityMetadata, type EntityProperty, isRaw, ReferenceKind } from '@mikro-orm/core';
import { targetsOf } from '../../model/field-plan.ts';

/** Whether a filter of the model itself, or of one it inherits from, is on by default. */
export function isFiltered(meta: EntityMetadata): boolean {
  let filtered = known.get(meta);
  if (filtered === undefined) {
    filtered = defaultFilters(meta).length > 0;
    known.set(meta, filtered);
  }
  return filtered;
}

const known = new WeakMap<EntityMetadata, boolean>();

/** The names of the filters that are on by default. */
export function defaultFilters(meta: EntityMetadata): string[] {
  const named = [meta, meta.root].flatMap(({ filters }) => Object.entries(filters ?? {}));
  return [...new Set(named.flatMap(([name, filter]) => (filter.default ? [name] : [])))];
}

/** Whether filters that are on by default can hide rows of a model: its own filters, or those of an associated model. */
export function canHideRows(meta: EntityMetadata): boolean {
  return isFiltered(meta) || hidingAssociation(meta) !== undefined;
}

/** A to-one association to a filtered model. The filter also hides rows that point to a hidden one, even if no field shows it. */
export function hidingAssociation(meta: EntityMetadata): EntityProperty | undefined {
  return (meta.relations as EntityProperty[]).find((property) => isToOne(property) && targetsOf(property).some(isFiltered));
}

export function isToOne({ kind }: Pick<EntityProperty, 'kind'>): boolean {
  return kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
}

/** Whether a class has a default filter that the class in the query lacks. MikroORM applies it when it loads more of the rows. */
export function filtersMore(concrete: EntityMetadata, read: EntityMetadata): boolean {
  const known = new Set<unknown>(Object.values(read.filters ?? {}));
  return Object.values(concrete.filters ?? {}).some((filter) => filter.default && !known.has(filter));
}

/** Whether a condition is the same for every request: nothing in it is computed on access. */
export function isFixedCondition(value: unknown): boolean {
  if (typeof value === 'function') return false;
  if (typeof value !== 'object' || value === null) return true;
  if (value instanceof Date || value instanceof RegExp || ArrayBuffer.isView(value) || isRaw(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Reflect.ownKeys(value).every((key) => {
    const property = Object.getOwnPropertyDescriptor(value, key) as PropertyDescriptor;
    return property.get === undefined && isFixedCondition(property.value);
  });
}
