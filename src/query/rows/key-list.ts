import type { Dialect } from '../../dialect/dialect.ts';
import { keyListText } from '../../model/composite-key.ts';

/** A condition on key columns, with one parameter for a list of keys. */
interface KeyList {
  readonly sql: string;
  /** The keys as the parameter. */
  bind(keys: Iterable<unknown>): unknown;
}

/** The condition that columns hold one of the keys in a parameter. */
export function keyList(
  { sql, values }: Dialect,
  columns: readonly string[],
  types: readonly string[],
  parameter: string,
): KeyList {
  if (columns.length > 1) return { sql: sql.amongKeys(columns, types, parameter), bind: keyListText };
  return { sql: sql.among([...columns], parameter).join(''), bind: (keys) => values.list(keys) };
}
