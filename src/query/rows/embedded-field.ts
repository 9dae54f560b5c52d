import { type EntityProperty, ReferenceKind, type Type } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type EmbeddedField, type Field, hidesParts, isBlank } from '../../model/field-plan.ts';
import type { ValueKind } from '../../model/value-kind.ts';
import { toJson } from '../../serialization/kind-conversions.ts';
import type { RowField } from '../../serialization/row-writer.ts';
import { dateOf, parsedJson } from '../../serialization/to-json.ts';
import { NotCompilable } from './association.ts';
import { columnField, type SelectedColumns } from './column-field.ts';
import { columnOf, quoted } from './table-name.ts';

/**
 * Plans an embedded object from the columns of the row that it is part of. `property` is the embedded property of the table's
 * model, which knows the names of the columns.
 */
export function embeddedField(
  selected: SelectedColumns,
  embedded: EmbeddedField,
  property: EntityProperty,
  path: string,
  alias: string,
): RowField {
  const { mapper } = selected;
  const { name } = embedded;
  const parts = partsOf(embedded, property, path);
  if (property.object || property.array) {
    const read = jsonReader(embedded, parts, mapper, path);
    const column = selected.add(`${alias}.${columnOf(mapper, property)}`);
    return { kind: 'value', name, column, value: { kind: 'json' }, convert: (given) => read(parsedJson(given)) };
  }
  const fields = parts.map(({ field, place }): RowField => {
    if (field.kind === 'embedded') return embeddedField(selected, field, place, `${path}.${field.property}`, alias);
    if (field.kind !== 'scalar' || place.fieldNames?.length !== 1) throw new NotCompilable(`${path} holds more than columns`);
    return columnField(selected, field, place, `${alias}.${columnOf(mapper, place)}`);
  });
  const deciding = hidesParts(embedded) ? shownColumns(embedded, property, path) : decidingColumns(property);
  const columns = deciding?.map((column) => selected.add(`${alias}.${quoted(mapper, column)}`)) ?? null;
  return { kind: 'embedded', name, columns, fields };
}

interface Part {
  readonly field: Field;
  readonly place: EntityProperty;
}

/** The fields that are shown of an embedded object, with the properties that know their columns. */
function partsOf({ plan }: EmbeddedField, property: EntityProperty, path: string): Part[] {
  const [fields, ...others] = plan.variants.values();
  if (!fields || others.length > 0) throw new NotCompilable(`${path} can be one of several classes`);
  return fields.map((field) => {
    const place = property.embeddedProps[field.property] as EntityProperty | undefined;
    if (
      !place ||
      field.normalization ||
      field.metadata.serializer ||
      (field.kind === 'scalar' && (field.computed || field.metadata.formula))
    )
      throw new NotCompilable(`${path}.${field.property} is computed by the model`);
    return { field, place };
  });
}

/** The columns that are all null if there is no embedded object; null if MikroORM makes one in any case. */
function decidingColumns(property: EntityProperty): string[] | null {
  const columns: string[] = [];
  for (const inner of Object.values(property.embeddedProps) as EntityProperty[]) {
    if (inner.kind === ReferenceKind.EMBEDDED && !inner.object && !inner.array) {
      const nested = decidingColumns(inner);
      if (nested === null) return null;
      columns.push(...nested);
    } else if (!property.nullable) {
      return null;
    } else columns.push(...(inner.fieldNames ?? []));
  }
  return columns;
}

/** The columns of the fields that are shown of an embedded object. */
function shownColumns(embedded: EmbeddedField, property: EntityProperty, path: string): string[] {
  return partsOf(embedded, property, path).flatMap(({ field, place }) => {
    if (field.kind !== 'embedded' || place.array) return place.fieldNames ?? [];
    if (place.object) throw new NotCompilable(`${String(property.name)} hides parts, and holds an object in JSON`);
    return shownColumns(field, place, path);
  });
}

/**
 * Reads an embeddable that is stored as JSON, or a list of them, as far as the plan shows it. If the plan hides parts, an object
 * whose shown parts are all null becomes null.
 */
function jsonReader(embedded: EmbeddedField, parts: readonly Part[], mapper: Mapper, path: string): (json: unknown) => unknown {
  const hides = hidesParts(embedded);
  const fields = parts.map(({ field }) => field);
  const readers = parts.map(({ field, place }) => ({ field, read: memberReader(field, place, mapper, path) }));
  const one = (json: unknown): unknown => {
    const target: Record<string, unknown> = {};
    for (const { field, read } of readers) {
      const given = memberOf(json as object, field);
      target[field.name] = given === null || given === undefined ? null : (read(given) ?? null);
    }
    return hides && isBlank(fields, json as object, memberOf) ? null : target;
  };
  return (json) => (Array.isArray(json) ? json.map(one) : json === null ? null : one(json));
}

function memberOf(json: object, { metadata, property }: Field): unknown {
  const members = json as Record<string, unknown>;
  return members[metadata.fieldNames?.[0] as string] ?? members[property];
}

function memberReader(field: Field, place: EntityProperty, mapper: Mapper, path: string): (given: unknown) => unknown {
  if (field.kind === 'embedded') {
    const inner = `${path}.${field.property}`;
    return jsonReader(field, partsOf(field, place, inner), mapper, inner);
  }
  if (field.kind !== 'scalar' || field.value.kind === 'any' || field.value.kind === 'custom')
    throw new NotCompilable(`${path} holds more than plain values`);
  if (!place.customType && place.runtimeType === 'boolean') return (given) => !!given;
  return typeReader(field.value, place, mapper);
}

/** Converts a value of stored JSON for a response, by the property's own type. */
function typeReader(value: ValueKind, property: EntityProperty, mapper: Mapper): (given: unknown) => unknown {
  const platform = mapper.driver.getPlatform();
  const custom = property.customType as Type<unknown> | undefined;
  const write = toJson(value);
  if (custom) return (given) => write(custom.convertToJSValue(given, platform));
  return property.runtimeType === 'Date' ? (given) => write(dateOf(given)) : write;
}
