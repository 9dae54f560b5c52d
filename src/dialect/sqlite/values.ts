import type { ColumnValues } from '../dialect.ts';
import { isInt64, isStorableText } from '../storable.ts';
import type { ValueKind } from '../value-kind.ts';

export const sqliteValues: ColumnValues = Object.freeze<ColumnValues>({
  readsText: false,
  exactDecimals: false,
  singleReals: false,
  wideIntegers: true,
  datesAsNumbers: true,
  keepsJsonOrder: true,
  bindable,
  storable: bindable,
  comparable(value, { kind }) {
    if (kind === 'bigint') return BigInt(value as string | number | bigint);
    return bindable(kind === 'decimal' ? Number(value) : value);
  },
  list: jsonList,
  listText: jsonList,
  sortKeyCheck,
  sortKey: (value, { kind }) => (kind === 'bigint' && typeof value === 'string' ? BigInt(value) : bindable(value)),
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

/** SQLite compares any two values, so it is enough that the value is of a type that the column usually holds. */
function sortKeyCheck({ kind }: ValueKind): ReturnType<ColumnValues['sortKeyCheck']> {
  switch (kind) {
    case 'bigint':
      return (value) => typeof value === 'string' && isInt64(value);
    case 'integer':
    case 'boolean':
    case 'float':
    case 'real':
    case 'decimal':
      return (value) => typeof value === 'number' && Number.isFinite(value);
    case 'date':
    case 'datetime':
    case 'enum':
      return (value) => (typeof value === 'string' ? isStorableText(value) : Number.isFinite(value));
    case 'string':
    case 'uuid':
    case 'time':
      return (value) => typeof value === 'string' && isStorableText(value);
    default:
      return null;
  }
}
