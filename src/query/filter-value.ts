import type { EntityProperty } from '@mikro-orm/core';
import type { FilterOperator } from '../declaration/types.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { isDate } from '../dialect/storable.ts';
import type { ValueKind } from '../model/value-kind.ts';
import { fromJson } from '../serialization/from-json.ts';
import { seekValueCheck } from './seek-value.ts';

/** What a value of a request became: what the driver takes, or what it should have been. */
export type ReadValue = { readonly value: unknown } | { readonly expected: string };

/** Reads the text of a parameter as a value of a column. */
export type ValueReader = (text: string) => ReadValue;

const ordered: readonly FilterOperator[] = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'exists'];
const named: readonly FilterOperator[] = ['eq', 'ne', 'in', 'exists'];
const textual: readonly FilterOperator[] = ['contains', 'starts', 'ends'];

/** The operators that make sense of what a column holds. */
export function operatorsFor(kind: ValueKind, property: EntityProperty, dialect: Dialect): readonly FilterOperator[] {
  // what only the mapper reads can be compared by nobody else
  const isComparable = seekValueCheck(kind, property, dialect) !== null && !property.hasConvertToJSValueSQL;
  if (!isComparable || isDateOfMapper(kind, property, dialect)) return ['exists'];
  switch (kind.kind) {
    case 'integer':
    case 'bigint':
    case 'decimal':
    case 'float':
    case 'real':
    case 'date':
    case 'datetime':
    case 'time':
      return ordered;
    case 'string':
      return [...ordered.slice(0, -1), ...textual, 'exists'];
    case 'uuid':
    case 'enum':
      return named;
    case 'boolean':
      return ['eq', 'ne', 'exists'];
    default:
      return ['exists'];
  }
}

/** A day that stands as a number among others that are text. */
function isDateOfMapper({ kind }: ValueKind, property: EntityProperty, { values }: Dialect): boolean {
  return kind === 'date' && values.datesAsNumbers && property.customType?.constructor.name !== 'DateType';
}

/** What a column holds, in words for a message. */
export function kindName({ kind }: ValueKind): string {
  const names: Partial<Record<ValueKind['kind'], string>> = {
    integer: 'an integer',
    bigint: 'an integer',
    decimal: 'a decimal number',
    float: 'a number',
    real: 'a number',
    boolean: 'true or false',
    uuid: 'a UUID',
    date: 'a date',
    datetime: 'a date and time',
    time: 'a time',
    string: 'a text',
    enum: 'one of a few values',
  };
  return names[kind] ?? 'a value that cannot be compared';
}

/** Makes the reader of values of a column, which takes what the column can hold and nothing else. */
export function valueReader(kind: ValueKind, { values }: Dialect): ValueReader {
  // what is compared need not be as coarse as what is kept, and others may have kept it less coarse
  const parse = fromJson(kind.kind === 'datetime' ? { ...kind, digits: 3 } : kind);
  const isAsGiven = kind.kind === 'real' && !values.singleReals;
  return (text) => {
    const json = jsonOf(kind, text);
    const parsed = parse(json === undefined ? null : json);
    if ('refused' in parsed) return { expected: parsed.refused.title };
    return { value: values.comparable(isAsGiven ? json : parsed.value, kind) };
  };
}

/** What would stand in JSON for a text that stands in an address; undefined where nothing would. */
function jsonOf(kind: ValueKind, text: string): unknown {
  switch (kind.kind) {
    case 'integer':
      return /^(?:0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
    case 'float':
    case 'real':
      return /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?$/.test(text) ? Number(text) : undefined;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'datetime':
      return isDate(text) ? `${text}T00:00:00.000Z` : text;
    case 'enum':
      return kind.items.find((item) => String(item) === text);
    default:
      return text;
  }
}

/** The items of `1,2`. A comma that belongs to an item has a backslash before it, and so has a backslash; null where one stands alone. */
export function itemsIn(text: string): string[] | null {
  const items: string[] = [];
  let item = '';
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === ',') {
      items.push(item);
      item = '';
    } else if (character !== '\\') item += character;
    else {
      const next = text.charAt(++i);
      if (next !== ',' && next !== '\\') return null;
      item += next;
    }
  }
  return [...items, item];
}

/** A text as it stands in a pattern of `like`, where `%`, `_` and the backslash would mean more than themselves. */
export function patternOf(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
