import type { EntityMetadata } from '@mikro-orm/core';
import type { QueryText } from '../rows/bound-statement.ts';

/** A part of a condition: a piece of SQL, the table of the list, a value, or what a caller sees of another class. */
export type ConditionPart =
  | string
  | { readonly kind: 'root' }
  | { readonly kind: 'value'; readonly value: unknown }
  /** The rows under an alias are those that the caller sees. */
  | { readonly kind: 'seen'; readonly meta: EntityMetadata; readonly alias: string };

/** A condition on rows of a list, from which SQL is written for whatever name the list's table has. */
export type Condition = readonly ConditionPart[];

export const root: ConditionPart = Object.freeze({ kind: 'root' });

/** What a caller sees of a class, as a condition on the rows that go by an alias; null where they see none. */
export type VisibleRows = (meta: EntityMetadata, alias: string) => QueryText | null;

export function value(given: unknown): ConditionPart {
  return { kind: 'value', value: given };
}

/** The classes of which a condition leads through what a caller sees. */
export function hiddenIn(condition: Condition): EntityMetadata[] {
  const metas = condition.flatMap((part) => (typeof part === 'object' && part.kind === 'seen' ? [part.meta] : []));
  return [...new Set(metas)];
}

/** Writes a condition. `placeOf` says how the parameter at a position stands in SQL: as `?`, where a sight is given. */
export function conditionText(
  condition: Condition,
  rootSql: string,
  placeOf: (position: number) => string,
  sight: VisibleRows | null = null,
): QueryText {
  const params: unknown[] = [];
  let sql = '';
  for (const part of condition) {
    if (typeof part === 'string') sql += part;
    else if (part.kind === 'root') sql += rootSql;
    else if (part.kind === 'value') sql += placeOf(params.push(part.value));
    else {
      const seen = sight?.(part.meta, part.alias) ?? { sql: '1 = 0', params: [] };
      sql += seen.sql;
      params.push(...seen.params);
    }
  }
  return { sql, params };
}

/** Conditions that all hold; in the order of their texts, so that the order in a request makes no other statement. */
export function allOf(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' and ');
}

/** Conditions of which one holds. */
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
