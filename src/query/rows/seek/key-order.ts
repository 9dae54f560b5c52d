import type { EntityMetadata } from '@mikro-orm/core';
import type { ValueKind } from '../../../model/value-kind.ts';
import { NotCompilable } from '../association.ts';

/** A key column by which rows are sorted, as a number or by code unit. */
export interface TextColumn {
  readonly column: number;
  readonly isNumber: boolean;
}

/** Whether the keys of a to-many's rows are ordered as numbers; text is ordered by code unit. */
export function isNumberKey(kind: ValueKind, meta: EntityMetadata): boolean {
  if (kind.kind === 'enum') return kind.items.every((item) => typeof item === 'number');
  if (kind.kind === 'integer' || (kind.kind === 'bigint' && kind.as !== 'string')) return true;
  if (kind.kind === 'string' || kind.kind === 'uuid' || kind.kind === 'bigint') return false;
  throw new NotCompilable(`the key of ${meta.className} has an order of its own`);
}
