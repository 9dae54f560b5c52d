import { wordsOf } from './columns.ts';
import type { Operation, Parameter } from './document.ts';
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

export function filtersOf({ query }: Operation): readonly Filter[] {
  return query
    .filter(({ name }) => !reserved.has(name))
    .map(({ description = null, name, schema }) => ({ parameter: name, label: labelOf(name, schema), schema, description }));
}

function labelOf(name: string, schema: Parameter['schema']): string {
  const [, field = name, operator = 'eq'] = /^(.*?)(?:\[(\w+)\])?$/.exec(name) ?? [];
  const isTime = schema.format === 'date' || schema.format === 'date-time';
  const words = field.split('.').map(wordsOf).join(' › ');
  return `${words} ${(isTime && times[operator]) || operators[operator] || operator}`;
}

/** The parameters of a query that filter it, in their order: also those without a control, such as `or[0][lastName]`. */
export function activeFilters(query: string): readonly (readonly [string, string])[] {
  return entriesOf(query).filter(([name]) => !reserved.has(name) && !name.startsWith('{'));
}
