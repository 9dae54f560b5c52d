import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { columnKinds } from '../dialect/value-kind.ts';
import { keyOf } from '../model/identifier.ts';
import { type ValueKind, valueKindOf } from '../model/value-kind.ts';

/** A column of the root's own table, and how to make of it what the mapper takes. */
export interface SubjectColumn {
  readonly field: string;
  readonly column: number;
  readonly convert: ((value: unknown) => unknown) | null;
}

/** Whose columns are wanted, and where they are put. */
interface Subject {
  readonly mapper: Mapper;
  readonly dialect: Dialect;
  readonly meta: EntityMetadata;
  readonly alias: string;
  /** Adds a column to a statement, and gives its place. */
  readonly add: (sql: string) => number;
}

/** All columns of the root's own table, as the mapper would have read them. */
export function subjectColumns({ add, alias, dialect, mapper, meta }: Subject): readonly SubjectColumn[] | string {
  const platform = mapper.driver.getPlatform();
  const columns: SubjectColumn[] = [];
  for (const property of Object.values(meta.root.properties) as EntityProperty[]) {
    if (
      property.persist === false ||
      property.lazy ||
      !property.fieldNames?.length ||
      property.kind === ReferenceKind.MANY_TO_MANY
    )
      continue;
    if (property.kind === ReferenceKind.ONE_TO_MANY || (property.kind === ReferenceKind.ONE_TO_ONE && !property.owner)) continue;
    if (property.kind === ReferenceKind.EMBEDDED && !property.object) continue;
    const types =
      property.kind === ReferenceKind.SCALAR ? [valueKindOf(property, platform)] : property.fieldNames.map(() => null);
    if (property.kind === ReferenceKind.EMBEDDED || property.formula || types.some((type) => type && !isPlainType(type))) {
      return `${meta.className}.${String(property.name)} has a type that only the mapper reads`;
    }
    for (const [index, field] of property.fieldNames.entries()) {
      const type = types[index] ?? null;
      const sql = `${alias}.${platform.quoteIdentifier(field).toString()}`;
      columns.push({
        field,
        column: add(sql),
        convert: dialect.values.readsText ? fromText(type, property, index) : fromNative(type),
      });
    }
  }
  return columns;
}

function isPlainType({ kind }: ValueKind): boolean {
  return columnKinds[kind].hydratedFrom !== 'mapper';
}

/** SQLite gives BigInts where any column of the statement may need them. */
function fromNative(type: ValueKind | null): SubjectColumn['convert'] {
  return type?.kind === 'bigint' ? null : (value) => (typeof value === 'bigint' ? Number(value) : value);
}

function fromText(type: ValueKind | null, property: EntityProperty, index: number): SubjectColumn['convert'] {
  if (type === null) {
    // a foreign key is read as the key it points to; of a polymorphic one, the first column is the type
    const key = property.polymorphic
      ? index === 0
        ? 'string'
        : property.polymorphTargets?.[0] && keyOf(property.polymorphTargets[0]).runtimeType
      : property.targetMeta && keyOf(property.targetMeta).runtimeType;
    return key === 'number' ? Number : null;
  }
  switch (columnKinds[type.kind].hydratedFrom) {
    case 'number':
      return Number;
    case 'boolean':
      return (value) => value === 't';
    case 'json':
      return (value) => JSON.parse(value as string);
    case 'item':
      return 'items' in type && type.items.every((item) => typeof item === 'number') ? Number : null;
    case 'text':
    case 'mapper':
      return null;
  }
}
