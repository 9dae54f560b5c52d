import { type EntityProperty, type Platform, Type } from '@mikro-orm/core';
import { dialectOn } from '../dialect/dialect.ts';
import type { ValueKind } from '../dialect/value-kind.ts';

export type { ValueKind };

/** MikroORM's length of a string column that declares none. */
const defaultStringLength = 255;

/** A date of JavaScript has milliseconds. */
const mostDigits = 3;

/** What a double holds of any decimal number. */
const exactDigitsOfDouble = 15;

const integerRanges: Readonly<Record<string, number>> = {
  tinyint: 2 ** 7,
  smallint: 2 ** 15,
  mediumint: 2 ** 23,
  integer: 2 ** 31,
};

/** Tells what kind of value a scalar property holds. */
export function valueKindOf(property: EntityProperty, platform: Platform): ValueKind {
  if (property.enum && property.items) return { kind: 'enum', items: property.items };
  const custom = property.customType;
  const name = custom?.constructor.name ?? String(property.type);
  switch (name) {
    case 'BigIntType':
      return { kind: 'bigint', as: (custom as { mode?: 'bigint' | 'number' | 'string' } | undefined)?.mode ?? 'bigint' };
    case 'DecimalType':
      return decimal(property, (custom as { mode?: string } | undefined)?.mode === 'number' ? 'number' : 'string', platform);
    case 'DateType':
      return { kind: 'date' };
    case 'DateTimeType':
      return dateTime(property);
    case 'UuidType':
      return { kind: 'uuid' };
    case 'IntervalType':
      return { kind: 'interval' };
    case 'TimeType':
      return { kind: 'time' };
    case 'DoubleType':
      return { kind: 'float' };
    case 'FloatType':
      return { kind: 'real' };
    case 'BooleanType':
      return { kind: 'boolean' };
    case 'IntegerType':
      return integer('integer', property.unsigned);
    case 'SmallIntType':
      return integer('smallint', property.unsigned);
    case 'TinyIntType':
      return integer('tinyint', property.unsigned);
    case 'MediumIntType':
      return integer('mediumint', property.unsigned);
    case 'StringType':
      return { kind: 'string', length: property.length ?? defaultStringLength };
    case 'TextType':
      return { kind: 'string', length: property.length ?? null };
    case 'BlobType':
    case 'Uint8ArrayType':
      return { kind: 'blob' };
    case 'JsonType':
      return { kind: 'json' };
    case 'EnumArrayType':
      return { kind: 'array', item: property.items ? { kind: 'enum', items: property.items } : { kind: 'string', length: null } };
    case 'ArrayType':
      return { kind: 'array', item: itemKind(property) };
  }
  if (custom instanceof Type) return { kind: 'custom', type: custom, platform };
  return plainKind(property);
}

function plainKind(property: EntityProperty): ValueKind {
  const type = String(property.type);
  const column = String(property.columnTypes?.[0] ?? '').toLowerCase();
  switch (type) {
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'integer':
      return integer(type, property.unsigned);
    case 'int':
      return integer('integer', property.unsigned);
    case 'number':
      if (/^(real|float4)/.test(column)) return { kind: 'real' };
      if (/^(float|double)/.test(column)) return { kind: 'float' };
      return integer(column.startsWith('smallint') ? 'smallint' : 'integer', property.unsigned);
    case 'float':
      return { kind: 'real' };
    case 'double':
      return { kind: 'float' };
    case 'boolean':
    case 'bool':
      return { kind: 'boolean' };
    case 'Date':
    case 'datetime':
      return column === 'date' ? { kind: 'date' } : dateTime(property);
    case 'time':
      return { kind: 'time' };
    case 'text':
      return { kind: 'string', length: property.length ?? null };
    case 'character':
      return { kind: 'string', length: property.length ?? 1, fixed: true };
    case 'string':
    case 'varchar':
      if (column === 'uuid') return { kind: 'uuid' };
      return { kind: 'string', length: stringLength(property, column) };
    default:
      return { kind: 'any' };
  }
}

/** A string column of its own type (`citext`, `text`) has just the length that it declares; a plain one has the mapper's. */
function stringLength(property: EntityProperty, column: string): number | null {
  if (property.length !== undefined && property.length > 0) return property.length;
  if (property.persist === false || property.formula) return null;
  const declared = /^(?:varchar|character varying|char|character)\((\d+)\)/.exec(column);
  if (declared) return Number(declared[1]);
  // SQLite says `text` for every string, so there the mapper's length stands in for what PostgreSQL would enforce
  return column === 'text' || column === '' ? defaultStringLength : null;
}

function integer(type: string, unsigned: boolean | undefined): ValueKind {
  const half = integerRanges[type] ?? 2 ** 31;
  // neither database has unsigned columns: the sign is given up, but nothing is gained
  return { kind: 'integer', min: unsigned ? 0 : -half, max: half - 1 };
}

function decimal(property: EntityProperty, as: 'number' | 'string', platform: Platform): ValueKind {
  const precision = property.precision ?? 10;
  const isDouble = as === 'number' || !dialectOn(platform).values.exactDecimals;
  const exact = isDouble ? Math.min(precision, exactDigitsOfDouble) : precision;
  return { kind: 'decimal', precision, scale: property.scale ?? 0, as, exact };
}

/** PostgreSQL rounds to the digits that the column declares; SQLite keeps milliseconds whatever it declares. */
function dateTime({ columnTypes }: EntityProperty): ValueKind {
  const declared = /^timestamp(?:tz)?\((\d)\)/.exec(String(columnTypes?.[0] ?? '').toLowerCase())?.[1];
  return { kind: 'datetime', digits: Math.min(declared === undefined ? mostDigits : Number(declared), mostDigits) };
}

function itemKind(property: EntityProperty): ValueKind {
  const column = String(property.columnTypes?.[0] ?? '').toLowerCase();
  if (/^(int|integer|smallint|bigint)/.test(column)) return integer('integer', false);
  if (/^(real|float|double|numeric)/.test(column)) return { kind: 'float' };
  if (/^bool/.test(column)) return { kind: 'boolean' };
  if ((property.customType as { toJsValue?: (item: string) => unknown }).toJsValue?.('1') === 1) return { kind: 'float' };
  return { kind: 'string', length: null };
}
