import type { ColumnValues } from '../dialect.ts';
import { sortKeyCheck } from './sort-keys.ts';

export const postgresValues: ColumnValues = Object.freeze<ColumnValues>({
  readsText: true,
  exactDecimals: true,
  singleReals: true,
  wideIntegers: false,
  datesAsNumbers: false,
  bindable: (value) => value,
  storable: (value) => (value instanceof Date ? value.toISOString() : value),
  // a text takes the type of the column that it is compared with
  comparable: (value) => (value instanceof Date ? value.toISOString() : String(value)),
  list: (values) => [...values],
  listText: (values) => `{${values.map((value) => `"${String(value).replace(/["\\]/g, '\\$&')}"`).join(',')}}`,
  sortKeyCheck,
  sortKey: (value) => value,
  keyAsRead: String,
});
