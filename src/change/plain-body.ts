import { type EntityMetadata, type EntityProperty, isRaw, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { columnKinds } from '../dialect/value-kind.ts';
import { constructionOf, constructionReason, type InitialValue, initialValues } from '../model/construction.ts';
import { typeOf } from '../model/hierarchy.ts';
import {
  compositeIn,
  type Identifier,
  type IdentifierParser,
  identifierParser,
  isComposite,
  keyOf,
} from '../model/identifier.ts';
import { hasAccessor } from '../model/own-code.ts';
import { valueKindOf } from '../model/value-kind.ts';
import { compileReference, type InstanceContext } from '../query/rows/instance.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { longJson } from '../serialization/long-body.ts';
import {
  type Column,
  type ColumnValue,
  databaseColumn,
  databaseValue,
  isPlainReference,
  type References,
  type Referred,
  StoredColumns,
} from './stored-columns.ts';
import type { AssociationWrite, ScalarWrite, WritableField, WritePlan } from './write-plan.ts';

/** The rows of an association's target that callers may refer to; null if statements alone cannot check that. */
type ReferenceCheck = (field: AssociationWrite) => References | null;

/** Whether every caller sees every row of a class. */
type IsOpen = (meta: EntityMetadata) => boolean;

interface PlainField extends Column {
  readonly nullable: boolean;
  readonly refersTo: Omit<Referred, 'id'> | null;
  /** Whether it can refer to a row that the caller does not see: such a reference is null for the caller. */
  readonly canHide: boolean;
  /** Whether it is a part of the key, which only a new row can set. */
  readonly isKey: boolean;
  /** Whether the sent value is merged into the stored one. */
  readonly merges: boolean;
  /** The value for the driver, or undefined if the deserializer has to read it. */
  read(json: unknown, body: object): unknown;
  readonly property: string;
  /** The value of the model's property. */
  propertyValue(json: unknown, context: InstanceContext): unknown;
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
  readonly #defaults: readonly Default[];
  readonly #stored: StoredColumns;
  readonly #construct: () => Record<string, unknown>;
  readonly #meta: EntityMetadata;
  readonly #dialect: Dialect;
  /** The columns that are null in a new row whose body does not set them. */
  readonly emptyColumns: ReadonlyMap<string, ColumnValue>;

  constructor(mapper: Mapper, plan: WritePlan, referenceCheck: ReferenceCheck, isOpen: IsOpen) {
    this.#dialect = dialectOf(mapper);
    const fields = new Map<string, PlainField>();
    const empty = new Map<string, ColumnValue>();
    for (const field of plan.fields.values()) {
      const plain = plainField(mapper, plan.meta, field, referenceCheck, isOpen);
      if (plain) fields.set(field.name, plain);
      const { default: literal, defaultRaw, onCreate } = field.metadata;
      if (plain?.nullable && (literal ?? defaultRaw ?? onCreate) === undefined) {
        const { column, type } = plain;
        empty.set(column, { column, type, value: null, refersTo: null, property: null });
      }
    }
    this.#fields = fields;
    this.emptyColumns = empty;
    this.#required = [...plan.fields.values()].filter(({ required }) => required).map(({ name }) => name);
    this.#defaults = defaultsOf(mapper, plan.meta) ?? [];
    this.#stored = new StoredColumns(mapper, plan.meta);
    this.#construct = constructionOf(plan.meta);
    this.#meta = plan.meta;
  }

  /** Why MikroORM has to construct new entities; null if statements alone can write what the constructor sets. */
  get constructionReason(): string | null {
    let reason = constructionReasons.get(this.#meta);
    if (reason === undefined) {
      const isStored = ({ property, value }: InitialValue) => this.newColumnOf(property.name as string, value) !== null;
      reason = constructionReason(this.#meta, isStored);
      constructionReasons.set(this.#meta, reason);
    }
    return reason;
  }

  /** The column of a property that code has set; null if a statement alone cannot write it. */
  columnOf(property: string, value: unknown): ColumnValue | null {
    return this.#stored.columnOf(property, value);
  }

  /** The same in a new row, whose key code may set. */
  newColumnOf(property: string, value: unknown): ColumnValue | null {
    return this.#stored.newColumnOf(property, value);
  }

  /** The columns that a body sets; null if it is not a plain one. A new row gets its defaults, unless code sets them. */
  read(body: unknown, isNew: boolean, withDefaults = isNew): ColumnValue[] | null {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
    const columns: ColumnValue[] = [];
    for (const name of Object.keys(body)) {
      const field = this.#fields.get(name);
      if (!field) return null;
      const json = (body as Record<string, unknown>)[name];
      if (json === null && (!field.nullable || (field.canHide && !isNew))) return null;
      if ((field.merges || field.isKey) && !isNew) return null;
      const value = json === null ? null : field.read(json, body);
      // the deserializer reports an empty part of a key
      if (value === undefined || (field.isKey && value === '')) return null;
      const { column, refersTo, type } = field;
      const isReference = refersTo !== null && value !== null;
      columns.push({
        column,
        type,
        value: isReference ? this.#dialect.values.bindable(value) : value,
        refersTo: isReference ? { ...refersTo, id: value as Identifier } : null,
        property: {
          name: field.property,
          valueFor: (context) => (json === null ? null : field.propertyValue(json, context)),
        },
      });
    }
    if (isNew) {
      if (!this.#required.every((name) => Object.hasOwn(body, name))) return null;
      if (withDefaults && !this.#complete(columns)) return null;
    }
    // sorted, so that the same columns make the same statement, however they were sent
    return columns.length === 0 ? null : columns.sort((a, b) => (a.column < b.column ? -1 : 1));
  }

  /** Adds what the constructor sets, and then the defaults; false if a statement alone cannot write a value. */
  #complete(columns: ColumnValue[]): boolean {
    const isGiven = (column: string) => columns.some((given) => given.column === column);
    for (const { property, value } of initialValues(this.#meta, this.#construct())) {
      const made = this.newColumnOf(property.name as string, value);
      if (!made) return false;
      if (!isGiven(made.column) && (value !== null || !property.onCreate)) columns.push(made);
    }
    for (const { column, type, value } of this.#defaults)
      if (!isGiven(column)) columns.push({ column, type, value: value(), refersTo: null, property: null });
    return true;
  }
}

function plainField(
  mapper: Mapper,
  meta: EntityMetadata,
  field: WritableField,
  referenceCheck: ReferenceCheck,
  isOpen: IsOpen,
): PlainField | null {
  const { metadata: property, nullable } = field;
  const platform = mapper.driver.getPlatform();
  if (property.fieldNames?.length !== 1 || property.persist === false || hasAccessor(meta, field.property)) return null;
  if (property.primary && !isComposite(meta)) return null;
  const { concurrencyCheck, formula, generated, hasConvertToDatabaseValueSQL, version } = property;
  if (hasConvertToDatabaseValueSQL || generated || formula || concurrencyCheck || version) return null;
  const isKey = property.primary === true;
  const common = { ...databaseColumn(property, platform), nullable, isKey, property: field.property };
  if (common.type === '') return null;
  if (field.kind === 'scalar') {
    const read = scalarReader(field, mapper);
    const propertyValue = (json: unknown) => (field.parse(json) as { value: unknown }).value;
    return read && { ...common, refersTo: null, canHide: false, merges: field.merges, read, propertyValue };
  }
  const references = field.kind === 'to-one' && isPlainReference(property, field.targets) ? referenceCheck(field) : null;
  if (field.kind !== 'to-one' || !references) return null;
  const target = field.targets[0] as EntityMetadata;
  if (isComposite(target)) return null;
  const key = keyOf(target);
  if (key.customType || key.targetMeta) return null;
  const parseId = identifierParser(target, platform, 'json');
  const refer = compileReference(target);
  return {
    ...common,
    propertyValue: (json, context) => refer(readReference(json, target, parseId), context),
    canHide: !isOpen(target),
    merges: false,
    refersTo: {
      table: tableOf(mapper, target),
      key: platform.quoteIdentifier(key.fieldNames[0] as string).toString(),
      field,
      references,
    },
    read: (json) => readReference(json, target, parseId),
  };
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

/** Whether a scalar has one column of its own, whose values need no SQL around them. */
function isPlainColumn({ embedded, fieldNames, hasConvertToDatabaseValueSQL, kind }: EntityProperty): boolean {
  return kind === ReferenceKind.SCALAR && fieldNames?.length === 1 && !embedded && !hasConvertToDatabaseValueSQL;
}

function scalarReader(field: ScalarWrite, mapper: Mapper): PlainField['read'] | null {
  const platform = mapper.driver.getPlatform();
  const { metadata: property } = field;
  const kind = valueKindOf(property, platform);
  const { values } = dialectOf(mapper);
  if (!columnKinds[kind.kind].isPlain && kind.kind !== 'json') return null;
  const toDatabase = databaseValue(property, platform);
  const sent = kind.kind === 'json' ? longJson : () => undefined;
  return (json, body) => {
    const parsed = field.parse(json);
    if (!('value' in parsed)) return undefined;
    return sent(body, parsed.value) ?? values.storable(toDatabase(parsed.value));
  };
}

/** The key in `{id}`, or in `{type, id}` with the type of the target; undefined for any other value. */
export function readReference(json: unknown, target: EntityMetadata, parseId: IdentifierParser): Identifier | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  if (isComposite(target)) {
    const isTyped = Object.hasOwn(json, 'type') && !(target.primaryKeys as string[]).includes('type');
    if (isTyped && (json as { type: unknown }).type !== typeOf(target)) return undefined;
    return parseId(compositeIn(json, isTyped ? new Set(['type']) : new Set()));
  }
  if (!Object.hasOwn(json, 'id')) return undefined;
  const keys = Object.keys(json);
  const { id, type } = json as { id: unknown; type?: unknown };
  return keys.length > 2 || (keys.length === 2 && type !== typeOf(target)) ? undefined : parseId(id);
}
