import { enumMapping, literalOf, type PropertyMapping } from '../../../database/schema/inventory.ts';
import type { StoredColumn } from './inventory-query.ts';

type Mapping = PropertyMapping | { readonly unsupported: string };

const value = (builder: string, options = '', traits: Partial<PropertyMapping> = {}): PropertyMapping => ({
  builder,
  options,
  literal: null,
  isAddressable: false,
  family: builder.replace(/\(.*/, '').replace('string', 'text'),
  ...traits,
});

const number = { literal: 'number', isAddressable: true } as const;
const text = { literal: 'text', isAddressable: true } as const;

/** Types whose properties need no options. */
const plain: Readonly<Record<string, PropertyMapping>> = {
  int2: value('smallint()', '', number),
  int4: value('integer()', '', number),
  int8: value('bigint()', '', { isAddressable: true }),
  float4: value('float()', '', { literal: 'number' }),
  float8: value('double()', '', { literal: 'number' }),
  bool: value('boolean()', '', { literal: 'boolean' }),
  text: value('text()', '', text),
  citext: value('string()', ".columnType('citext')", text),
  name: value('string()', ".columnType('name')", text),
  uuid: value('uuid()', '', { isAddressable: true }),
  date: value('date()', '', { isAddressable: true }),
  bytea: value('blob()'),
  json: value('json()', ".columnType('json')"),
  jsonb: value('json()'),
  inet: value('string()', ".columnType('inet')"),
  cidr: value('string()', ".columnType('cidr')"),
  macaddr: value('string()', ".columnType('macaddr')"),
  macaddr8: value('string()', ".columnType('macaddr8')"),
};

/** Types whose properties depend on the numbers in parentheses. */
const sized: Readonly<Record<string, (sizes: readonly number[], base: string) => PropertyMapping>> = {
  varchar: ([length]) => value('string()', length === undefined ? ".columnType('varchar')" : `.length(${length})`, text),
  bpchar: ([length = 1]) => value('character()', `.length(${length})`, text),
  numeric: ([precision, scale = 0]) => decimal(precision, scale),
  time: ([digits]) => value('time()', `.columnType('${withDigits('time', digits)}')`),
  timetz: ([digits]) => value('time()', `.columnType('${withDigits('timetz', digits)}')`),
  timestamp: ([digits]) => value('datetime()', `.columnType('${withDigits('timestamp', digits)}')`),
  timestamptz: ([digits]) => value(`datetime(${digits ?? ''})`),
  interval: (_, base) => value('interval()', base === 'interval' ? '' : `.columnType(${literalOf(base)})`),
};

/** The most digits that requests can have in a column without a precision. */
const unlimited = { precision: 60, scale: 20 };

function decimal(precision: number | undefined, scale: number): PropertyMapping {
  if (precision === undefined) {
    const { precision, scale } = unlimited;
    return value('decimal()', `.precision(${precision}).scale(${scale}).columnType('numeric')`, { literal: 'text' });
  }
  // a negative scale rounds to tens, hundreds and so on
  if (scale < 0)
    return value('decimal()', `.precision(${precision - scale}).scale(0).columnType('numeric(${precision},${scale})')`);
  return value('decimal()', `.precision(${precision}).scale(${scale})`, { literal: 'text' });
}

function withDigits(type: string, digits: number | undefined): string {
  return digits === undefined ? type : `${type}(${digits})`;
}

/** Items of lists that Declarest reads and writes, with the arguments of the builder. */
const items: Readonly<Record<string, string>> = {
  text: '',
  varchar: '',
  citext: '',
  uuid: '',
  bool: '',
  int2: 'Number',
  int4: 'Number',
  int8: 'Number',
  float4: 'Number',
  float8: 'Number',
};

/** The property that holds the values of a column. */
export function mappingOf(column: StoredColumn, tableSchema: string): Mapping {
  const { base, dimensions, element, labels, typeKind, typeName } = column;
  if (labels) return enumOf(column, tableSchema);
  if (element !== null) {
    if (dimensions > 1) return { unsupported: 'lists of lists are not supported' };
    const item = items[element];
    if (item === undefined) return { unsupported: `lists of ${base.replace(/\[\]$/, '')} are not supported` };
    const type = base.replace('character varying', 'varchar').replace('double precision', 'float8');
    return value(item === '' ? 'array()' : `array(${item})`, type === 'text[]' ? '' : `.columnType('${type}')`);
  }
  const known = Object.hasOwn(plain, typeName) ? plain[typeName] : undefined;
  if (known) return known;
  const sizes = Array.from(/\(([^)]*)\)/.exec(base)?.[1]?.split(',') ?? [], Number);
  const make = Object.hasOwn(sized, typeName) ? sized[typeName] : undefined;
  if (make) return make(sizes, base);
  return {
    unsupported: typeKind === 'b' ? 'the type is not supported' : `${kindNames[typeKind] ?? 'such types'} are not supported`,
  };
}

const kindNames: Readonly<Record<string, string>> = { c: 'composite types', r: 'ranges', m: 'multiranges' };

function enumOf({ element, enumName, enumSchema, labels }: StoredColumn, tableSchema: string): Mapping {
  if (/["'.]/.test(`${enumSchema}${enumName}`)) return { unsupported: 'the name of its type has quotes or points' };
  const name = enumSchema === tableSchema ? enumName : `${enumSchema}.${enumName}`;
  const mapping = enumMapping(labels as string[], `.nativeEnumName(${literalOf(name as string)})`);
  if (element === null) return mapping;
  return { ...mapping, options: `${mapping.options}.array()`, literal: null, isAddressable: false };
}
