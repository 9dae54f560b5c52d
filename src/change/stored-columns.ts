import { type EntityMetadata, type EntityProperty, type Platform, Reference, ReferenceKind, type Type } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { constructionReason } from '../model/construction.ts';
import { hasDiscriminator } from '../model/hierarchy.ts';
import { type Identifier, isComposite, keyOf } from '../model/identifier.ts';
import { hasAccessor } from '../model/own-code.ts';
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
  /** Whether it changes parts of an embedded object that the row must have already. */
  readonly isPartial?: boolean;
  /** `instance` has the value so far. */
  valueFor(context: InstanceContext, instance: Record<string, unknown>): unknown;
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
  /** Decides about several rows by few statements, before {@link may} is called for each. */
  decide(request: ApiRequest, ids: readonly Identifier[]): Promise<unknown>;
  /** The rows that the caller may refer to, as a condition for that statement, or `all`; null if only {@link may} can decide. */
  rows(request: ApiRequest): 'all' | Promise<readonly SeenRows[] | 'all' | null>;
}

/** The columns of a model's properties, for values that code of the application has set. */
export class StoredColumns {
  readonly #properties: ReadonlyMap<string, StoredProperty>;

  constructor(mapper: Mapper, meta: EntityMetadata) {
    const stored = (meta.props as EntityProperty[]).map((property) => [property.name, storedProperty(mapper, meta, property)]);
    this.#properties = new Map(stored.filter(([, store]) => store) as [string, StoredProperty][]);
  }

  /** The columns of a property; null if a statement alone cannot write it. */
  columnsOf(property: string, value: unknown): readonly ColumnValue[] | null {
    return this.#properties.get(property)?.isKey ? null : this.newColumnsOf(property, value);
  }

  /** The same in a new row, whose key code may set. */
  newColumnsOf(property: string, value: unknown): readonly ColumnValue[] | null {
    return this.#properties.get(property)?.store(value) ?? null;
  }
}

interface StoredProperty {
  readonly isKey: boolean;
  /** The columns of a value; null for an entity that code has created: it has no key yet. */
  store(value: unknown): readonly ColumnValue[] | null;
}

function storedProperty(mapper: Mapper, meta: EntityMetadata, property: EntityProperty): StoredProperty | null {
  if (property.embedded) return null;
  if (property.kind === ReferenceKind.EMBEDDED) {
    const parts = partColumns(mapper, meta, property);
    if (!parts) return null;
    const storeParts = (value: unknown) =>
      [...parts].map(([name, { column, store, type }]) => {
        const part = (value as Record<string, unknown> | null | undefined)?.[name] ?? null;
        return { column, type, value: part === null ? null : store(part), refersTo: null, property: null };
      });
    return { isKey: false, store: storeParts };
  }
  const store = storing(property, mapper);
  if (!store || property.fieldNames?.length !== 1 || property.persist === false || property.version) return null;
  const column = databaseColumn(property, mapper.driver.getPlatform());
  if (column.type === '') return null;
  return {
    isKey: property.primary === true,
    store: (value) => {
      const stored = value === null || value === undefined ? null : store(value);
      return stored === undefined ? null : [{ ...column, value: stored, refersTo: null, property: null }];
    },
  };
}

/** The column of a part of an embedded object. */
export interface PartColumn extends Column {
  readonly place: EntityProperty;
  store(value: unknown): unknown;
}

/**
 * The columns of an embedded object's parts by their names; null if it is not stored that way, or if MikroORM makes values of the
 * parts.
 */
export function partColumns(
  mapper: Mapper,
  meta: EntityMetadata,
  property: EntityProperty,
): ReadonlyMap<string, PartColumn> | null {
  const target = property.targetMeta as EntityMetadata;
  if (property.object || property.array || property.persist === false || hasAccessor(meta, property.name as string)) return null;
  if (target.discriminatorMap || target.polymorphs || constructionReason(target, () => false)) return null;
  const columns = new Map<string, PartColumn>();
  for (const [name, place] of Object.entries(property.embeddedProps) as [string, EntityProperty][]) {
    if (place.persist === false) continue;
    const { concurrencyCheck, default: literal, defaultRaw, fieldNames, generated, kind, onCreate, onUpdate, version } = place;
    const store = kind === ReferenceKind.SCALAR && fieldNames?.length === 1 ? storing(place, mapper) : null;
    if (!store || concurrencyCheck || generated || version || (literal ?? defaultRaw ?? onCreate ?? onUpdate) !== undefined)
      return null;
    const column = databaseColumn(place, mapper.driver.getPlatform());
    if (column.type === '') return null;
    columns.set(name, { ...column, place, store });
  }
  return columns;
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
