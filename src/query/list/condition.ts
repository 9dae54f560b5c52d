import type { EntityMetadata } from '@mikro-orm/core';
import type { QueryText } from '../rows/bound-statement.ts';

/** A part of a condition: a piece of SQL, the table of the list, a value, or the visible rows of another class. */
export type ConditionPart =
  | string
  | { readonly kind: 'root' }
  | { readonly kind: 'value'; readonly value: unknown }
  /** True for rows of the alias that the caller sees. */
  | { readonly kind: 'seen'; readonly meta: EntityMetadata; readonly alias: string };

/** A condition on rows of a list. The alias of the list's table is inserted when the SQL is written. */
export type Condition = readonly ConditionPart[];

export const root: ConditionPart = Object.freeze({ kind: 'root' });

/** The condition for the rows of a class that the caller sees, under an alias; null if they see none. */
export type VisibleRows = (meta: EntityMetadata, alias: string) => QueryText | null;

export function value(given: unknown): ConditionPart {
  return { kind: 'value', value: given };
}

/** The classes in a condition whose rows must be visible to the caller. */
export function hiddenIn(condition: Condition): EntityMetadata[] {
  const metas = condition.flatMap((part) => (typeof part === 'object' && part.kind === 'seen' ? [part.meta] : []));
  return [...new Set(metas)];
}

/** Writes a condition in SQL. `placeOf` returns the placeholder at a position, which must be `?` if `visibleRows` is given. */
export function conditionText(
  condition: Condition,
  rootSql: string,
  placeOf: (position: number) => string,
  visibleRows: VisibleRows | null = null,
): QueryText {
  const params: unknown[] = [];
  let sql = '';
  for (const part of condition) {
    if (typeof part === 'string') sql += part;
    else if (part.kind === 'root') sql += rootSql;
    else if (part.kind === 'value') sql += placeOf(params.push(part.value));
    else {
      const seen = visibleRows?.(part.meta, part.alias) ?? { sql: '1 = 0', params: [] };
      sql += seen.sql;
      params.push(...seen.params);
    }
  }
  return { sql, params };
}

/** Joins conditions by `and`. They are sorted by text, so that their order in a request does not make another statement. */
export function allOf(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' and ');
}

/** Joins conditions by `or`, sorted in the same way. */
export function anyOf(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' or ');
}

export function not(condition: Condition): Condition {
  return ['not (', ...condition, ')'];
}

function joined(conditions: readonly Condition[], word: string): Condition {
  if (conditions.length === 1) return conditions[0] as Condition;
  const sorted = conditions
    .map((condition) => ({ condition, form: formOf(condition) }))
    .sort((a, b) => (a.form < b.form ? -1 : a.form > b.form ? 1 : 0));
  const inOrder = sorted.map(({ condition }) => condition);
  return ['(', ...separated(inOrder, word), ')'];
}

/** Conditions one after the other, with a word between them. */
export function separated(conditions: readonly Condition[], word: string): Condition {
  return conditions.flatMap((condition, i) => (i === 0 ? condition : [word, ...condition]));
}

function formOf(condition: Condition): string {
  return condition.map((part) => (typeof part === 'string' ? part : part.kind)).join('');
}
