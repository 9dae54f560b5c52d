import { type EntityProperty, type Platform, Type } from '@mikro-orm/core';
import { dialectOn } from '../dialect/dialect.ts';
import type { ValueKind } from '../dialect/value-kind.ts';

export type { ValueKind };

/** MikroORM's length of a string column that declares none. */
const defaultStringLength = 255;

/** Digits of a second: a JavaScript date has milliseconds. */
const maxDigits = 3;

/** The number of decimal digits that a double always keeps. */
const exactDigitsOfDouble = 15;

/** Half the number of values of an integer column, by the names of its type. */
const integerRanges: Readonly<Record<string, number>> = {
  ...named(['TinyIntType', 'tinyint'], 2 ** 7),
  ...named(['SmallIntType', 'smallint'], 2 ** 15),
  ...named(['MediumIntType', 'mediumint'], 2 ** 23),
  ...named(['IntegerType', 'integer', 'int'], 2 ** 31),
};

/** Types whose kind follows from their name alone. */
const bareKinds: Readonly<Record<string, ValueKind>> = {
  ...named(['FloatType', 'float'], { kind: 'real' }),
  ...named(['DoubleType', 'double'], { kind: 'float' }),
  ...named(['BooleanType', 'boolean', 'bool'], { kind: 'boolean' }),
  ...named(['TimeType', 'time'], { kind: 'time' }),
  ...named(['BlobType', 'Uint8ArrayType'], { kind: 'blob' }),
  DateType: { kind: 'date' },
  ...named(['UuidType', 'uuid'], { kind: 'uuid' }),
  IntervalType: { kind: 'interval' },
  JsonType: { kind: 'json' },
};

/** JavaScript types that determine the kind of a column if its type is not known by its name. */
const runtimeTypes: ReadonlySet<string> = new Set(['string', 'number', 'Date']);

function named<Value>(names: readonly string[], value: Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

export function valueKindOf(property: EntityProperty, platform: Platform): ValueKind {
  const { customType: custom, items } = property;
  if (property.enum && items) return { kind: 'enum', items };
  const name = custom?.constructor.name ?? String(property.type);
  if (Object.hasOwn(bareKinds, name)) return bareKinds[name] as ValueKind;
  if (Object.hasOwn(integerRanges, name)) return integer(name, property.unsigned);
  const mode = (custom as { mode?: 'bigint' | 'number' | 'string' } | undefined)?.mode;
  const column = columnType(property);
  switch (name) {
    case 'BigIntType':
      return { kind: 'bigint', as: mode ?? 'bigint' };
    case 'DecimalType':
      return decimal(property, mode === 'number' ? 'number' : 'string', platform);
    case 'DateTimeType':
      return dateTime(column);
    case 'StringType':
      return { kind: 'string', length: property.length ?? defaultStringLength };
    case 'TextType':
    case 'text':
      return { kind: 'string', length: property.length ?? null };
    case 'EnumArrayType':
      return { kind: 'array', item: items ? { kind: 'enum', items } : { kind: 'string', length: null } };
    case 'ArrayType':
      return { kind: 'array', item: itemKind(property) };
  }
  if (custom instanceof Type) return { kind: 'custom', type: custom, platform };
  switch (name) {
    case 'number':
      if (/^(real|float4)/.test(column)) return { kind: 'real' };
      if (/^(float|double)/.test(column)) return { kind: 'float' };
      return integer(column.startsWith('smallint') ? 'smallint' : 'integer', property.unsigned);
    case 'Date':
    case 'datetime':
      return column === 'date' ? { kind: 'date' } : dateTime(column);
    case 'character':
    case 'char':
      return { kind: 'string', length: property.length ?? 1, fixed: true };
    case 'string':
    case 'varchar':
      return column === 'uuid' ? { kind: 'uuid' } : { kind: 'string', length: stringLength(property, column) };
    default:
      // MikroORM knows the JavaScript type of names such as `timestamp` or `varchar(30)`
      return runtimeTypes.has(property.runtimeType) && property.type !== property.runtimeType
        ? valueKindOf({ ...property, type: property.runtimeType }, platform)
        : { kind: 'any' };
  }
}

function columnType({ columnTypes }: EntityProperty): string {
  return String(columnTypes?.[0] ?? '').toLowerCase();
}

/** A string column with its own type (`citext`, `text`) has only the length that it declares; a plain one has MikroORM's. */
function stringLength(property: EntityProperty, column: string): number | null {
  if (property.length !== undefined && property.length > 0) return property.length;
  if (property.persist === false || property.formula) return null;
  const declared = /^(?:varchar|character varying|char|character)\((\d+)\)/.exec(column);
  if (declared) return Number(declared[1]);
  // SQLite has the type `text` for every string, so MikroORM's length applies there, as PostgreSQL would enforce it
  return column === 'text' || column === '' ? defaultStringLength : null;
}

function integer(type: string, unsigned: boolean | undefined): ValueKind {
  const half = integerRanges[type] ?? 2 ** 31;
  // neither database has unsigned columns: negative values are excluded, and the maximum is that of a signed column
  return { kind: 'integer', min: unsigned ? 0 : -half, max: half - 1 };
}

function decimal(property: EntityProperty, as: 'number' | 'string', platform: Platform): ValueKind {
  const precision = property.precision ?? 10;
  const isDouble = as === 'number' || !dialectOn(platform).values.exactDecimals;
  const exact = isDouble ? Math.min(precision, exactDigitsOfDouble) : precision;
  return { kind: 'decimal', precision, scale: property.scale ?? 0, as, exact };
}

/** PostgreSQL rounds to the digits that the column declares; SQLite keeps milliseconds whatever it declares. */
function dateTime(column: string): ValueKind {
  const declared = /^timestamp(?:tz)?\((\d)\)/.exec(column)?.[1];
  return { kind: 'datetime', digits: Math.min(declared === undefined ? maxDigits : Number(declared), maxDigits) };
}

function itemKind(property: EntityProperty): ValueKind {
  const column = columnType(property);
  if (/^(int|integer|smallint|bigint)/.test(column)) return integer('integer', false);
  if (/^(real|float|double|numeric)/.test(column)) return { kind: 'float' };
  if (/^bool/.test(column)) return { kind: 'boolean' };
  if ((property.customType as { toJsValue?: (item: string) => unknown }).toJsValue?.('1') === 1) return { kind: 'float' };
  return { kind: 'string', length: null };
}
