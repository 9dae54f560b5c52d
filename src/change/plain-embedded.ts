import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { isObject, type WriteMode } from './body-reader.ts';
import { hiddenParts, retainedParts } from './embedded-parts.ts';
import { type PlainField, scalarReader } from './plain-fields.ts';
import { type ColumnValue, type PartColumn, partColumns } from './stored-columns.ts';
import type { EmbeddedPlan, EmbeddedWrite, ScalarWrite } from './write-plan.ts';

type Values = Record<string, unknown>;

/** A part of an embedded object that bodies can set. */
interface Part {
  readonly field: ScalarWrite;
  readonly column: PartColumn;
  read(json: unknown): unknown;
}

/** The parts that a body sets, as columns and as values. */
interface ReadParts {
  readonly columns: ColumnValue[];
  readonly values: Values;
  /** Whether it lacks parts that only an object that is there already can have. */
  readonly isPartial: boolean;
}

/** Plans an embedded object, each of whose parts has a column; null if only the deserializer reads it. */
export function plainEmbedded(mapper: Mapper, meta: EntityMetadata, field: EmbeddedWrite): PlainField | null {
  const { metadata: property, nullable } = field;
  const [plan, ...others] = field.plans;
  const columns = partColumns(mapper, meta, property);
  if (!plan || others.length > 0 || !columns) return null;
  const parts = partsOf(mapper, plan, columns);
  if (!parts) return null;
  const name = field.property;
  const { class: Embeddable } = plan.meta as unknown as { class: new () => object };
  const set = (written: readonly ColumnValue[], rest: Omit<NonNullable<ColumnValue['property']>, 'name'>) =>
    written.map((column, i) => (i === 0 ? { ...column, property: { ...rest, name } } : column));
  const none = parts.filter(({ field: part }) => !part.unseen).map(({ column }) => columnValue(column, null));
  const cleared = set(none, {
    valueFor: (_, instance) => {
      const retained = retainedParts(field, instance);
      return retained === undefined ? null : Object.assign(new Embeddable(), retained);
    },
  });
  return {
    isKey: false,
    reset: nullable ? cleared : null,
    // parts of a nullable object have nullable columns
    empty: parts.filter(({ field: part }) => nullable || part.nullable).map(({ column }) => columnValue(column, null)),
    read: (json, _body, mode) => {
      if (json === null) return nullable ? cleared : null;
      const read = isObject(json) ? readParts(parts, json, mode) : null;
      if (!read || !isObject(json)) return null;
      const { isPartial, values } = read;
      return set(read.columns, {
        isPartial: isPartial && nullable,
        valueFor: (_, instance) => {
          const current = (instance[name] ?? null) as Values | null;
          if (mode === 'patch' && current) return Object.assign(current, values);
          return Object.assign(new Embeddable(), values, mode === 'replace' && current ? hiddenParts(plan, current, json) : {});
        },
      });
    },
  };
}

function partsOf(mapper: Mapper, { fields }: EmbeddedPlan, columns: ReadonlyMap<string, PartColumn>): Part[] | null {
  const parts: Part[] = [];
  for (const field of fields.values()) {
    const column = columns.get(field.property);
    if (!column || field.kind !== 'scalar' || field.custom) return null;
    const read = scalarReader(field, column.place, mapper);
    // the text of a long value is known by the body itself, not by its parts
    parts.push({ field, column, read: (json) => read?.(json, json as object) });
  }
  return parts.length > 0 ? parts : null;
}

/** Reads the parts of an object in a body; null if the deserializer has to. */
function readParts(parts: readonly Part[], json: Values, mode: WriteMode): ReadParts | null {
  const columns: ColumnValue[] = [];
  const values: Values = {};
  let isPartial = false;
  let sent = 0;
  for (const { column, field, read } of parts) {
    if (Object.hasOwn(json, field.name)) {
      sent++;
      const value = json[field.name];
      if (value === null ? !field.nullable : field.merges && mode === 'patch') return null;
      const stored = value === null ? null : read(value);
      if (stored === undefined) return null;
      columns.push(columnValue(column, stored));
      values[field.property] = value === null ? null : (field.parse(value) as { value: unknown }).value;
    } else if (field.required) {
      if (mode !== 'patch') return null;
      isPartial = true;
    } else if (mode === 'replace') {
      if (!field.nullable) return null;
      values[field.property] = null;
      if (!field.unseen) columns.push(columnValue(column, null));
    }
  }
  // the deserializer reports other fields
  return sent === Object.keys(json).length && columns.length > 0 ? { columns, values, isPartial } : null;
}

function columnValue({ column, type }: PartColumn, value: unknown): ColumnValue {
  return { column, type, value, refersTo: null, property: null };
}
