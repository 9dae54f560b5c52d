import type { EntityProperty } from '@mikro-orm/core';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ValueKind } from '../../model/value-kind.ts';

/** A sort key of a row as a token holds it: PostgreSQL's text of it, or SQLite's own value. */
export type SeekValue = string | number | null;

/** Whether a value is one that a column can be compared with. */
export type SeekValueCheck = (value: string | number) => boolean;

/** Tells the values that rows of a column have, so that nothing else is ever compared with it. Null where that cannot be told. */
export function seekValueCheck(kind: ValueKind, property: EntityProperty, { values }: Dialect): SeekValueCheck | null {
  return values.sortKeyCheck(kind, String(property.columnTypes?.[0] ?? '').toLowerCase());
}
