import { type EntityMetadata, type EntityProperty, isRaw } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { columnKinds } from '../dialect/value-kind.ts';
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
import type { WriteMode } from './body-reader.ts';
import { type ColumnValue, databaseColumn, databaseValue, isPlainReference, type References } from './stored-columns.ts';
import type { AssociationWrite, ScalarWrite, WritableField } from './write-plan.ts';

/** The rows of an association's target that callers may refer to; null if statements alone cannot check that. */
export type ReferenceCheck = (field: AssociationWrite) => References | null;

/** Whether every caller sees every row of a class. */
export type IsOpen = (meta: EntityMetadata) => boolean;

/** A field of a body whose values statements can write. */
export interface PlainField {
  /** Whether it is a part of the key, which only a new row can set. */
  readonly isKey: boolean;
  /** The columns that a value in a body sets; null if the deserializer has to read it. */
  read(json: unknown, body: object, mode: WriteMode): readonly ColumnValue[] | null;
  /** The columns that PUT sets if the body does not have the field; null if the deserializer has to find out. */
  readonly reset: readonly ColumnValue[] | null;
  /** The columns that are null in a new row whose body does not have the field. */
  readonly empty: readonly ColumnValue[];
}

/** Reads the JSON of a value for the driver; undefined if the deserializer has to. */
type ReadValue = (json: unknown, body: object) => unknown;

/** Plans a field that has one column; null if only the deserializer reads it. */
export function plainField(
  mapper: Mapper,
  meta: EntityMetadata,
  field: WritableField,
  referenceCheck: ReferenceCheck,
  isOpen: IsOpen,
): PlainField | null {
  const { metadata: property, nullable } = field;
  if (property.fieldNames?.length !== 1 || property.persist === false || hasAccessor(meta, field.property)) return null;
  if (property.primary && !isComposite(meta)) return null;
  const { concurrencyCheck, formula, generated, hasConvertToDatabaseValueSQL, version } = property;
  if (hasConvertToDatabaseValueSQL || generated || formula || concurrencyCheck || version) return null;
  const own = databaseColumn(property, mapper.driver.getPlatform());
  if (own.type === '') return null;
  const isKey = property.primary === true;
  const none: ColumnValue = { ...own, value: null, refersTo: null, property: null };
  const cleared: ColumnValue = { ...none, property: { name: field.property, valueFor: () => null } };
  const empty = nullable && !hasDefault(property) ? [none] : [];
  // MikroORM makes the value of a new row also if it is null
  const isMade = property.onCreate !== undefined;
  if (field.kind === 'scalar') {
    if (field.custom) return null;
    const read = scalarReader(field, property, mapper);
    return {
      isKey,
      empty,
      reset: resetScalar(field, cleared, mapper),
      read: (json, body, mode) => {
        if (json === null) return nullable && !(isMade && mode === 'create') ? [cleared] : null;
        if (field.merges && mode === 'patch') return null;
        const value = read?.(json, body);
        // the deserializer reports an empty part of a key
        if (value === undefined || (isKey && value === '')) return null;
        const valueFor = () => (field.parse(json) as { value: unknown }).value;
        return [{ ...own, value, refersTo: null, property: { name: field.property, valueFor } }];
      },
    };
  }
  const target = field.kind === 'to-one' ? referenceTarget(field, property) : null;
  const references = field.kind === 'to-one' && target ? referenceCheck(field) : null;
  if (field.kind !== 'to-one' || !target || !references) return null;
  const platform = mapper.driver.getPlatform();
  const key = keyOf(target);
  const parseId = identifierParser(target, platform, 'json');
  const refer = compileReference(target);
  const { values } = dialectOf(mapper);
  const refersTo = {
    table: tableOf(mapper, target),
    key: platform.quoteIdentifier(key.fieldNames[0] as string).toString(),
    field,
    references,
  };
  // a reference to a row that the caller does not see is null for the caller
  const canHide = !isOpen(target);
  return {
    isKey,
    empty,
    reset: nullable && !canHide && !hasDefault(property) ? [cleared] : null,
    read: (json, _body, mode) => {
      if (json === null) return nullable && !(mode === 'create' ? isMade : canHide) ? [cleared] : null;
      const id = readReference(json, target, parseId);
      if (id === undefined || (isKey && id === '')) return null;
      const valueFor = (context: InstanceContext) => refer(id, context);
      const written = { ...own, value: values.bindable(id), refersTo: { ...refersTo, id } };
      return [{ ...written, property: { name: field.property, valueFor } }];
    },
  };
}

/** The class that a to-one association refers to by one plain key; null if it is another kind of association. */
function referenceTarget({ targets }: AssociationWrite, property: EntityProperty): EntityMetadata | null {
  const [target] = targets;
  if (!target || !isPlainReference(property, targets) || isComposite(target)) return null;
  const key = keyOf(target);
  return key.customType || key.targetMeta ? null : target;
}

/** Whether a new row gets another value than null if it is not given one. */
export function hasDefault({ default: literal, defaultRaw, onCreate }: EntityProperty): boolean {
  return (literal ?? defaultRaw ?? onCreate) !== undefined;
}

/** The default, or null. MikroORM makes values by functions and in SQL. */
function resetScalar(
  { metadata: property, nullable, required }: ScalarWrite,
  cleared: ColumnValue,
  mapper: Mapper,
): readonly ColumnValue[] | null {
  const { default: literal, defaultRaw, onCreate } = property;
  if (literal === undefined || literal === null) {
    if (literal === undefined && defaultRaw !== undefined) return null;
    if (nullable) return [cleared];
    return onCreate || required ? null : [];
  }
  const platform = mapper.driver.getPlatform();
  if (isRaw(literal) || !columnKinds[valueKindOf(property, platform).kind].isPlain) return null;
  const value = dialectOf(mapper).values.storable(databaseValue(property, platform)(literal));
  return [{ ...cleared, value, property: { name: property.name as string, valueFor: () => literal } }];
}

/** Reads values of a field into the column of a property; null if the deserializer has to. */
export function scalarReader(field: ScalarWrite, property: EntityProperty, mapper: Mapper): ReadValue | null {
  const platform = mapper.driver.getPlatform();
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
