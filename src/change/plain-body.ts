import { type EntityMetadata, type EntityProperty, isRaw, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { columnKinds } from '../dialect/value-kind.ts';
import { constructionOf, constructionReason, type InitialValue, initialValues } from '../model/construction.ts';
import { ownProperties } from '../model/field-plan.ts';
import { discriminatorProperty, typeOf } from '../model/hierarchy.ts';
import { valueKindOf } from '../model/value-kind.ts';
import { isObject, type WriteMode } from './body-reader.ts';
import { plainEmbedded } from './plain-embedded.ts';
import { type IsOpen, type PlainField, plainField, type ReferenceCheck } from './plain-fields.ts';
import { type Column, type ColumnValue, databaseColumn, databaseValue, StoredColumns } from './stored-columns.ts';
import { isRequired, isSetOnce, type WritableField, type WritePlan } from './write-plan.ts';

/** The lists of references in a body that statements write, by their names. */
type Lists = Pick<ReadonlyMap<string, unknown>, 'has'>;

const noLists: Lists = new Map();

interface ReadOptions {
  readonly lists?: Lists;
  readonly withDefaults?: boolean;
}

/** By model, found at startup: to find out, the constructor is called. */
const constructionReasons = new WeakMap<EntityMetadata, string | null>();

/**
 * Reads bodies that contain only valid values of plain columns, and plain references. All other bodies, above all invalid ones,
 * are left to the deserializer, which reads or rejects them.
 */
export class PlainBody {
  readonly #fields: ReadonlyMap<string, PlainField>;
  readonly #required: readonly string[];
  /** The columns of each required property that bodies cannot set. A table of several classes accepts rows without them. */
  readonly #unwritable: readonly (readonly string[])[];
  /** The fields that PUT resets if the body does not have them. */
  readonly #replaced: readonly WritableField[];
  /** The fields that may name the class. */
  readonly #typeKeys: ReadonlySet<string>;
  readonly #hidesType: boolean;
  /** The column that tells the class of a row among those of its table. */
  readonly #discriminator: ColumnValue | null;
  readonly #defaults: readonly Default[];
  readonly #stored: StoredColumns;
  readonly #construct: () => Record<string, unknown>;
  readonly #meta: EntityMetadata;
  /** The columns that are null in a new row whose body does not set them. */
  readonly emptyColumns: ReadonlySet<string>;

  constructor(mapper: Mapper, plan: WritePlan, referenceCheck: ReferenceCheck, isOpen: IsOpen) {
    const fields = new Map<string, PlainField>();
    for (const field of plan.fields.values()) {
      const plain =
        field.kind === 'embedded'
          ? plainEmbedded(mapper, plan.meta, field)
          : plainField(mapper, plan.meta, field, referenceCheck, isOpen);
      if (plain) fields.set(field.name, plain);
    }
    this.#fields = fields;
    this.emptyColumns = new Set([...fields.values()].flatMap(({ empty }) => empty.map(({ column }) => column)));
    this.#required = [...plan.fields.values()].filter(({ required }) => required).map(({ name }) => name);
    this.#unwritable = unwritableColumns(mapper, plan);
    this.#replaced = [...plan.fields.values()].filter((field) => !field.unseen && !isSetOnce(field));
    this.#typeKeys = new Set([plan.typeKey, 'type'].filter((key) => !plan.fields.has(key)));
    this.#hidesType = plan.hidesType;
    this.#discriminator = discriminatorOf(mapper, plan.meta);
    this.#defaults = defaultsOf(mapper, plan.meta) ?? [];
    this.#stored = new StoredColumns(mapper, plan.meta);
    this.#construct = constructionOf(plan.meta);
    this.#meta = plan.meta;
  }

  /** Why MikroORM has to construct new entities; null if statements alone can write what the constructor sets. */
  get constructionReason(): string | null {
    let reason = constructionReasons.get(this.#meta);
    if (reason === undefined) {
      const isStored = ({ property, value }: InitialValue) => this.newColumnsOf(property.name as string, value) !== null;
      reason = constructionReason(this.#meta, isStored);
      constructionReasons.set(this.#meta, reason);
    }
    return reason;
  }

  /** Why MikroORM has to replace rows; null if statements alone can, with the lists that they write. */
  replaceReason(lists: Lists): string | null {
    const field = this.#replaced.find(({ name }) => !this.#fields.has(name) && !lists.has(name));
    return field ? `PUT replaces ${this.#meta.className}.${field.property}, which MikroORM writes` : null;
  }

  /** The columns of a property that code has set; null if a statement alone cannot write them. */
  columnsOf(property: string, value: unknown): readonly ColumnValue[] | null {
    return this.#stored.columnsOf(property, value);
  }

  /** The same in a new row, whose key code may set. */
  newColumnsOf(property: string, value: unknown): readonly ColumnValue[] | null {
    return this.#stored.newColumnsOf(property, value);
  }

  /**
   * The columns that a body sets; null if it is not a plain one. A new row gets its defaults, unless code sets them. `lists` are not
   * in the body.
   */
  read(body: unknown, mode: WriteMode, { lists = noLists, withDefaults = true }: ReadOptions = {}): ColumnValue[] | null {
    if (!isObject(body)) return null;
    const isNew = mode === 'create';
    const columns: ColumnValue[] = isNew && this.#discriminator ? [this.#discriminator] : [];
    for (const name of Object.keys(body)) {
      if (this.#typeKeys.has(name) && (isNew || !this.#hidesType) && body[name] === typeOf(this.#meta)) continue;
      const field = this.#fields.get(name);
      const read = field && (isNew || !field.isKey) ? field.read(body[name], body, mode) : null;
      if (!read) return null;
      columns.push(...read);
    }
    for (const { name } of mode === 'replace' ? this.#replaced : []) {
      if (Object.hasOwn(body, name) || lists.has(name)) continue;
      const reset = this.#fields.get(name)?.reset;
      if (!reset) return null;
      columns.push(...reset);
    }
    if (isNew) {
      if (!this.#required.every((name) => Object.hasOwn(body, name))) return null;
      if (withDefaults && !(this.#complete(columns) && this.#isFilled(columns))) return null;
    }
    // sorted, so that the same columns make the same statement, however they were sent
    return columns.length === 0 || (isNew && columns.length === 1 && this.#discriminator)
      ? null
      : columns.sort((a, b) => (a.column < b.column ? -1 : 1));
  }

  /** Whether required properties that a body cannot set have values; if not, the deserializer reports it. */
  #isFilled(columns: readonly ColumnValue[]): boolean {
    return this.#unwritable.every((own) => columns.some(({ column }) => own.includes(column)));
  }

  /** Adds what the constructor sets, and then the defaults; false if a statement alone cannot write a value. */
  #complete(columns: ColumnValue[]): boolean {
    const isGiven = (column: string) => columns.some((given) => given.column === column);
    for (const { property, value } of initialValues(this.#meta, this.#construct())) {
      const made = this.newColumnsOf(property.name as string, value);
      if (!made) return false;
      if (value !== null || !property.onCreate) columns.push(...made.filter(({ column }) => !isGiven(column)));
    }
    for (const { column, type, value } of this.#defaults)
      if (!isGiven(column)) columns.push({ column, type, value: value(), refersTo: null, property: null });
    return true;
  }
}

/** The columns of the required properties of a model that a plan does not have. */
function unwritableColumns(mapper: Mapper, { fields, meta }: WritePlan): string[][] {
  const written = new Set([...fields.values()].map(({ property }) => property));
  const platform = mapper.driver.getPlatform();
  const isOther = (property: EntityProperty) =>
    property.persist !== false && isRequired(property, meta) && !written.has(property.name as string);
  return ownProperties(meta)
    .filter((property) => isOther(property) && property.name !== discriminatorProperty(meta))
    .map((property) => columnsOf(property).map((column) => platform.quoteIdentifier(column).toString()));
}

function columnsOf({ embeddedProps, fieldNames, object }: EntityProperty): readonly string[] {
  return embeddedProps && !object ? Object.values(embeddedProps).flatMap(columnsOf) : fieldNames;
}

/** A column that the mapper fills in a new row if it has no other value. */
interface Default extends Column {
  readonly value: () => unknown;
}

/** The defaults of a new row; null if only the mapper can compute them. */
export function defaultsOf(mapper: Mapper, meta: EntityMetadata): Default[] | null {
  const platform = mapper.driver.getPlatform();
  const { values } = dialectOf(mapper);
  const defaults: Default[] = [];
  for (const property of meta.props as EntityProperty[]) {
    const { onCreate, default: literal } = property;
    if (
      property.persist === false ||
      property.version ||
      (!onCreate && (literal === undefined || literal === null || isRaw(literal)))
    )
      continue;
    // a function without parameters does not read the entity
    if (!isPlainColumn(property) || (onCreate && onCreate.length > 0)) return null;
    if (!columnKinds[valueKindOf(property, platform).kind].isPlain) return null;
    const toDatabase = databaseValue(property, platform);
    const make = (onCreate ?? (() => literal)) as () => unknown;
    defaults.push({ ...databaseColumn(property, platform), value: () => values.storable(toDatabase(make())) });
  }
  return defaults;
}

function discriminatorOf(mapper: Mapper, meta: EntityMetadata): ColumnValue | null {
  const name = discriminatorProperty(meta);
  const { discriminatorValue: value } = meta;
  if (name === null || value === undefined) return null;
  const column = databaseColumn(meta.properties[name as never] as EntityProperty, mapper.driver.getPlatform());
  return { ...column, value, refersTo: null, property: { name, valueFor: () => value } };
}

/** Whether a scalar has one column of its own, whose values need no SQL around them. */
function isPlainColumn({ embedded, fieldNames, hasConvertToDatabaseValueSQL, kind }: EntityProperty): boolean {
  return kind === ReferenceKind.SCALAR && fieldNames?.length === 1 && !embedded && !hasConvertToDatabaseValueSQL;
}
