import { wordsOf } from './columns.ts';
import type { Operation, Parameter } from './document.ts';
import { isShown } from './granted.ts';
import { entriesOf, pageParameters } from './location.ts';

/** A filter, or another query parameter that a list accepts. */
export interface Filter {
  readonly parameter: string;
  readonly label: string;
  readonly schema: Parameter['schema'];
  readonly description: string | null;
}

const operators: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  lt: 'less than',
  lte: 'at most',
  gt: 'greater than',
  gte: 'at least',
  in: 'is one of',
  contains: 'contains',
  starts: 'starts with',
  ends: 'ends with',
  exists: 'has a value',
};

const times: Readonly<Record<string, string>> = { lt: 'before', lte: 'until', gt: 'after', gte: 'from' };

/** Parameters with controls of their own. */
const reserved = new Set([...pageParameters, 'items_per_page', 'fields', 'sort', 'q']);

/** The filters of a list. Those that need a role are offered if rows have their field. */
export function filtersOf({ query }: Operation, rows: readonly unknown[] = []): readonly Filter[] {
  return query
    .filter(({ name, 'x-role': role }) => !reserved.has(name) && (role === undefined || isShown(rows, fieldOf(name))))
    .map(({ description = null, name, schema }) => ({ parameter: name, label: labelOf(name, schema), schema, description }));
}

/** `lastName` of `lastName[contains]` */
function fieldOf(parameter: string): string {
  return parameter.replace(/\[\w+\]$/, '');
}

/** The fields to sort by. Those that need a role are offered if rows have them. */
export function sortsOf({ query }: Operation, rows: readonly unknown[] = []): readonly string[] {
  const sort = query.find(({ name }) => name === 'sort');
  const fields = (sort?.schema.items?.enum ?? []).map(String).filter((field) => !field.startsWith('-'));
  return fields.filter((field) => sort?.['x-role-of']?.[field] === undefined || isShown(rows, field));
}

function labelOf(name: string, schema: Parameter['schema']): string {
  const [, field = name, operator = 'eq'] = /^(.*?)(?:\[(\w+)\])?$/.exec(name) ?? [];
  const isTime = schema.format === 'date' || schema.format === 'date-time';
  const words = field.split('.').map(wordsOf).join(' › ');
  return `${words} ${(isTime && times[operator]) || operators[operator] || operator}`;
}

/** The parameters of a query that filter it, in their order: also those without a control, such as `or[0][lastName]`. */
export function activeFilters(query: string, others: readonly string[] = []): readonly (readonly [string, string])[] {
  return entriesOf(query).filter(([name]) => !reserved.has(name) && !name.startsWith('{') && !others.includes(name));
}
