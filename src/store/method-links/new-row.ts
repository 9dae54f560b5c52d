import { Collection, type EntityMetadata, type EntityProperty, isRaw, Reference, Utils } from '@mikro-orm/core';
import type { ColumnValue, StoredColumns } from '../../change/stored-columns.ts';

/**
 * The columns of an entity that code of the application has created, with the values that the model makes; null if a statement
 * alone cannot write it. `isStored`: whether an entity that it refers to has a row.
 */
export function newRowColumns(
  meta: EntityMetadata,
  stored: StoredColumns,
  entity: object,
  isStored: (entity: object) => boolean,
): ColumnValue[] | null {
  if (entity.constructor !== meta.class) return null;
  const columns: ColumnValue[] = [];
  for (const property of meta.props as EntityProperty[]) {
    const name = property.name as string;
    if (property.embedded || property.persist === false || property.version) continue;
    const value = valueFor(property, entity as Record<string, unknown>);
    if (value instanceof Collection) {
      if (value.length > 0) return null;
      continue;
    }
    if (value === undefined || value === null) {
      if (isOmitted(property, value)) continue;
      if (value === undefined || !property.nullable) return null;
    }
    const referred = Reference.isReference(value) ? (value.unwrap() as object) : value;
    if (Utils.isEntity(referred) && !isStored(referred as object)) return null;
    const own = stored.newColumnsOf(name, value);
    if (!own) return null;
    columns.push(...own);
  }
  // the same columns make the same statement
  return columns.length === 0 ? null : columns.sort((a, b) => (a.column < b.column ? -1 : 1));
}

/** Whether the database fills the column of a property that has no value. */
function isOmitted({ autoincrement, defaultRaw, nullable, primary }: EntityProperty, value: null | undefined): boolean {
  if (primary) return autoincrement === true || defaultRaw !== undefined;
  return value === undefined && (nullable === true || defaultRaw !== undefined);
}

/** The value of a property, or the one that the model makes. It stays on the entity, so that nothing makes it twice. */
function valueFor({ default: literal, name, onCreate }: EntityProperty, entity: Record<string, unknown>): unknown {
  const value = entity[name as string];
  if (value !== undefined) return value;
  if (onCreate) {
    entity[name as string] = onCreate(entity as never, undefined as never);
    return entity[name as string];
  }
  return literal === undefined || literal === null || isRaw(literal) ? undefined : literal;
}
