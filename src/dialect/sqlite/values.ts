import type { ColumnValues } from '../dialect.ts';
import { isInt64, isStorableText } from '../storable.ts';
import { type Comparison, columnKinds, type ValueKind } from '../value-kind.ts';

export const sqliteValues: ColumnValues = Object.freeze<ColumnValues>({
  readsText: false,
  exactDecimals: false,
  singleReals: false,
  wideIntegers: true,
  datesAsNumbers: true,
  bindable,
  storable: bindable,
  comparable(value, { kind }) {
    const { comparison } = columnKinds[kind];
    if (comparison === 'bigint') return BigInt(value as string | number | bigint);
    return bindable(comparison === 'decimal' ? Number(value) : value);
  },
  list: jsonList,
  listText: jsonList,
  sortKeyCheck,
  sortKey: (value, { kind }) =>
    columnKinds[kind].comparison === 'bigint' && typeof value === 'string' ? BigInt(value) : bindable(value),
  keyAsRead: (key) => key,
});

/** SQLite knows neither dates nor booleans, and Node binds every number as a double. */
function bindable(value: unknown): unknown {
  const plain = value instanceof Date ? value.getTime() : typeof value === 'boolean' ? Number(value) : value;
  return Number.isSafeInteger(plain) ? BigInt(plain as number) : plain;
}

function jsonList(values: Iterable<unknown>): string {
  const items = [...values].map((value) => (typeof value === 'bigint' ? value.toString() : JSON.stringify(value)));
  return `[${items.join(',')}]`;
}

type SortKeyCheck = (value: string | number) => boolean;

const isNumber: SortKeyCheck = (value) => typeof value === 'number' && Number.isFinite(value);
const isText: SortKeyCheck = (value) => typeof value === 'string' && isStorableText(value);
const isEither: SortKeyCheck = (value) => isText(value) || isNumber(value);

/** SQLite compares any two values, so it is enough that the value is of a type that the column usually holds. */
const checks: Readonly<Record<Comparison, SortKeyCheck>> = {
  bigint: (value) => typeof value === 'string' && isInt64(value),
  integer: isNumber,
  boolean: isNumber,
  number: isNumber,
  decimal: isNumber,
  date: isEither,
  datetime: isEither,
  item: isEither,
  text: isText,
  uuid: isText,
  time: isText,
};

function sortKeyCheck({ kind }: ValueKind): SortKeyCheck | null {
  const { comparison } = columnKinds[kind];
  return comparison && checks[comparison];
}
