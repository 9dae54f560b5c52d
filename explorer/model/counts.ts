import { wordsOf } from './columns.ts';
import type { Api, Operation, Parameter } from './document.ts';
import { activeFilters } from './filters.ts';
import { isShown } from './granted.ts';
import { entriesOf, placeholderQuery, queryText } from './location.ts';

/** Parameters of aggregates that are not filters. */
export const countParameters: readonly string[] = ['by', 'of'];

type Row = Readonly<Record<string, unknown>>;

/** The allowed values of a list parameter. Those that need a role are allowed if rows have their field, or they are in use. */
export function choicesOf(
  { query }: Operation,
  name: string,
  rows: readonly unknown[],
  used: readonly string[],
): readonly string[] {
  const parameter = query.find((each) => each.name === name);
  const isOffered = (value: string) =>
    used.includes(value) || parameter?.['x-role-of']?.[value] === undefined || isShown(rows, value.split(':')[0] as string);
  return (parameter?.schema.items?.enum ?? []).map(String).filter(isOffered);
}

/** Whether some values need a role, so that only rows show what the caller may name. */
export function hasRoles({ query }: Operation): boolean {
  return query.some((parameter: Parameter) => parameter['x-role'] !== undefined || parameter['x-role-of'] !== undefined);
}

export function listOf(query: string, name: string): readonly string[] {
  const given = entriesOf(query).find(([each]) => each === name)?.[1] ?? '';
  return given.split(',').filter((value) => value !== '');
}

/** The counts of the rows that a list shows, by its first field. */
export function countsQuery(api: Api, query: string): string {
  const by = api.aggregate ? choicesOf(api.aggregate, 'by', [], [])[0] : undefined;
  return queryText([...filtering(query), ...(by === undefined ? [] : ([['by', by]] as const)), ['sort', '-count']]);
}

/** The part of a query that selects rows: filters, search, and placeholders of the path. */
function filtering(query: string): (readonly [string, string])[] {
  const search = entriesOf(query).filter(([name]) => name === 'q');
  return [...entriesOf(placeholderQuery(query)), ...search, ...activeFilters(query, countParameters)];
}

/** The query of the list with the rows of a group; null if a field of the group has no filter. */
export function rowsQuery({ list }: Api, query: string, group: Row): string | null {
  const names = new Set(list?.query.map(({ name }) => name));
  const own = listOf(query, 'by').map((field) => {
    const value = group[field];
    const entry = value === null ? [`${field}[exists]`, 'false'] : [field, String(value)];
    return names.has(entry[0] as string) ? (entry as [string, string]) : null;
  });
  if (list === null || own.includes(null)) return null;
  const set = own.filter((entry) => entry !== null);
  const kept = filtering(query).filter(([name]) => !set.some(([each]) => each === name || `${each}[eq]` === name));
  return queryText([...kept, ...set]);
}

/** The value of a column: of a field, of the count, or `sum` in `amount` for `amount:sum`. */
export function groupValue(group: Row, column: string): unknown {
  if (Object.hasOwn(group, column)) return group[column];
  const [field = '', name = ''] = column.split(':');
  return (group[field] as Row | null | undefined)?.[name];
}

/** `maker.name` in words: `Maker › Name`; `amount:sum`: `Amount (sum)`. */
export function countWords(column: string): string {
  const [path = '', name] = column.split(':');
  const words = path.split('.').map(wordsOf).join(' › ');
  return name === undefined ? words : `${words} (${name})`;
}
