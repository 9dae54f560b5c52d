import { type EntityMetadata, type EntityProperty, type Platform, Reference, ReferenceKind, type Type } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { hasDiscriminator } from '../model/hierarchy.ts';
import { type Identifier, isComposite, keyOf } from '../model/identifier.ts';
import type { InstanceContext } from '../query/rows/instance.ts';
import type { SeenRows } from '../query/visibility/visibility-columns.ts';
import type { AssociationWrite } from './write-plan.ts';

export interface Column {
  /** Quoted. */
  readonly column: string;
  /** Its type without length or precision: a parameter that is cast to it can be used anywhere. */
  readonly type: string;
}

export interface ColumnValue extends Column {
  readonly value: unknown;
  readonly refersTo: Referred | null;
  /** The property of the model, and its value there; null if only the column is set. */
  readonly property: PropertyValue | null;
}

interface PropertyValue {
  readonly name: string;
  valueFor(context: InstanceContext): unknown;
}

/** The row that a value refers to, and whether a caller may refer to it. */
export interface Referred {
  readonly table: string;
  readonly key: string;
  readonly id: Identifier;
  readonly field: AssociationWrite;
  readonly references: References;
}

/** The rows of a class that callers may refer to. Whether a row exists is checked by the statement that refers to it. */
export interface References {
  may(request: ApiRequest, id: Identifier): boolean | Promise<boolean>;
  /** The rows that the caller may refer to, as a condition for that statement, or `all`; null if only {@link may} can decide. */
  rows(request: ApiRequest): 'all' | Promise<readonly SeenRows[] | 'all' | null>;
}

/** The columns of a model's properties, for values that code of the application has set. */
export class StoredColumns {
  readonly #columns: ReadonlyMap<string, StoredColumn>;

  constructor(mapper: Mapper, meta: EntityMetadata) {
    this.#columns = new Map(storedColumns(mapper, meta).map((column) => [column.property, column]));
  }

  /** The column of a property; null if a statement alone cannot write it. */
  columnOf(property: string, value: unknown): ColumnValue | null {
    const stored = this.#columns.get(property);
    return stored?.isKey ? null : this.newColumnOf(property, value);
  }

  /** The same in a new row, whose key code may set. */
  newColumnOf(property: string, value: unknown): ColumnValue | null {
    const stored = this.#columns.get(property);
    const column = stored?.store(value);
    // an entity that code has created has no key yet
    return stored && column !== undefined ? { ...stored, value: column, refersTo: null, property: null } : null;
  }
}

interface StoredColumn extends Column {
  readonly property: string;
  readonly isKey: boolean;
  store(value: unknown): unknown;
}

function storedColumns(mapper: Mapper, meta: EntityMetadata): StoredColumn[] {
  const platform = mapper.driver.getPlatform();
  return (meta.props as EntityProperty[]).flatMap((property) => {
    const store = storing(property, mapper);
    if (!store || property.fieldNames?.length !== 1 || property.embedded || property.persist === false || property.version)
      return [];
    const column = databaseColumn(property, platform);
    if (column.type === '') return [];
    return {
      ...column,
      property: property.name as string,
      isKey: property.primary === true,
      store: (value: unknown) => (value === null || value === undefined ? null : store(value)),
    };
  });
}

/** Converts a value of the model's property for the driver; null if a statement alone cannot write it. */
function storing(property: EntityProperty, mapper: Mapper): ((value: unknown) => unknown) | null {
  const { values } = dialectOf(mapper);
  if (property.formula || property.hasConvertToDatabaseValueSQL) return null;
  if (property.kind === ReferenceKind.SCALAR) {
    const toDatabase = databaseValue(property, mapper.driver.getPlatform());
    return (value) => values.storable(toDatabase(value));
  }
  const target = property.targetMeta;
  if (property.kind !== ReferenceKind.MANY_TO_ONE || !target || !isPlainReference(property, [target])) return null;
  if (isComposite(target)) return null;
  const key = keyOf(target);
  if (key.customType || key.targetMeta) return null;
  return (value) => {
    const referred = Reference.unwrapReference(value as object) as Record<string, unknown>;
    return values.bindable(typeof referred === 'object' ? referred[key.name as string] : referred);
  };
}

export function databaseColumn({ columnTypes, fieldNames }: EntityProperty, platform: Platform): Column {
  // a cast with a length or precision would silently cut off a value that the column itself rejects; so would `character` alone
  const type = String(columnTypes?.[0] ?? '').replace(/\s*\([^)]*\)/, '');
  return {
    column: platform.quoteIdentifier(fieldNames[0] as string).toString(),
    type: /^(var)?char/i.test(type) ? 'text' : type,
  };
}

/** The value as the mapper itself would pass it to the driver. */
export function databaseValue(property: EntityProperty, platform: Platform): (value: unknown) => unknown {
  const custom = property.customType as Type<unknown> | undefined;
  if (!custom) return (value) => value;
  return (value) => custom.convertToDatabaseValue(value, platform, { mode: 'serialization' });
}

/** Whether a property refers to rows of one table by their key, and to any of them. */
export function isPlainReference(property: EntityProperty, targets: readonly EntityMetadata[]): boolean {
  const [target] = targets;
  if (!target || targets.length !== 1 || property.polymorphic || property.targetKey || hasDiscriminator(target)) return false;
  if (target.inheritanceType === 'tpt' || target.root.inheritanceType === 'tpt' || target.schema === '*' || target.virtual)
    return false;
  return property.kind === ReferenceKind.MANY_TO_ONE || property.kind === ReferenceKind.MANY_TO_MANY;
}
