import type { ColumnValues } from '../dialect.ts';
import { isDate, isInt64, isInteger, isStorableText } from '../storable.ts';
import { type Comparison, columnKinds, type ValueKind } from '../value-kind.ts';

/** PostgreSQL throws if a column is compared with a text that does not fit the type of the column. */
export function sortKeyCheck(kind: ValueKind, columnType: string): ReturnType<ColumnValues['sortKeyCheck']> {
  const { comparison } = columnKinds[kind.kind];
  const check = comparison && checks[comparison](columnType, kind);
  return check && ((value) => typeof value === 'string' && check(value));
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const time = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?$/;
const offset = /^(?:[+-](?:0\d|1[0-5])(?::[0-5]\d){0,2})?$/;

type TextCheck = (value: string) => boolean;

const checks: Readonly<Record<Comparison, (column: string, kind: ValueKind) => TextCheck | null>> = {
  integer: (column) =>
    ifColumn(/^(int|integer|int4|int2|smallint|serial|smallserial)$/, column, isIntegerOf(/2|small/.test(column) ? 15n : 31n)),
  bigint: (column) => ifColumn(/^(bigint|int8|bigserial)$/, column, isInt64),
  decimal: (column) => ifColumn(/^(numeric|decimal)/, column, (value) => /^-?\d{1,100}(\.\d{1,100})?$/.test(value)),
  number(column) {
    const round = /^(real|float4)/.test(column) ? Math.fround : Number;
    return ifColumn(/^(double|float|real)/, column, (value) => isFloat(value, round));
  },
  boolean: (column) => ifColumn(/^bool/, column, (value) => value === 't' || value === 'f'),
  text: (column) => ifColumn(/^(text|varchar|character|char|bpchar|citext)/, column, isStorableText),
  uuid: (column) => ifColumn(/^uuid$/, column, (value) => uuid.test(value)),
  item(_column, kind) {
    const items = new Set('items' in kind ? kind.items.map(String) : []);
    return (value) => items.has(value);
  },
  date: (column) => ifColumn(/^date$/, column, isDate),
  time: (column) => ifColumn(/^time(?!stamp|tz|.* with time)/, column, (value) => time.test(value)),
  datetime: (column) => ifColumn(/^timestamp/, column, isTimestamp),
};

function ifColumn(type: RegExp, column: string, check: TextCheck): TextCheck | null {
  return type.test(column) ? check : null;
}

function isIntegerOf(bits: bigint): (value: string) => boolean {
  const half = 2n ** bits;
  return (value) => isInteger(value) && BigInt(value) >= -half && BigInt(value) < half;
}

/** PostgreSQL rejects numbers that overflow the column, and numbers that underflow to zero. */
function isFloat(value: string, round: (value: number) => number): boolean {
  if (!/^-?\d{1,400}(\.\d{1,400})?(e[+-]\d{1,3})?$/.test(value)) return false;
  const rounded = round(Number(value));
  return Number.isFinite(rounded) && (rounded !== 0 || !/[1-9]/.test(value.split('e', 1)[0] as string));
}

/** `2026-11-15 03:29:00.099123+00` */
function isTimestamp(value: string): boolean {
  const [day, clock = ''] = value.split(' ', 2);
  const zone = clock.search(/[+-]/);
  return (
    value.charAt(10) === ' ' &&
    value.split(' ').length === 2 &&
    isDate(day as string) &&
    time.test(zone < 0 ? clock : clock.slice(0, zone)) &&
    offset.test(zone < 0 ? '' : clock.slice(zone))
  );
}
