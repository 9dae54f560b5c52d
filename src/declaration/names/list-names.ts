import { filterParameter } from '../filter-operators.ts';
import type { ActionDeclaration, DeclaredPath, ListDeclaration } from '../types.ts';

export interface ParameterNames {
  /** `lastName`, `lastName[contains]` */
  readonly filters: readonly string[];
  readonly sort: readonly string[];
  /** The fields of `?q=`. */
  readonly search: readonly string[];
  /** The fields by which rows can be grouped, and the values that can be computed: `kind`, `amount:sum`. */
  readonly by: readonly string[];
  readonly of: readonly string[];
  /** Query parameters that the action declares. */
  readonly parameters: readonly string[];
}

/** The query parameters of an action: its own and, with `withList`, those of its list; null if it declares none. */
export function parameterNames(action: ActionDeclaration | null, withList = true): ParameterNames | null {
  const { aggregate = null, filters = [], search = null, sort = [] } = (withList && action?.list) || {};
  const isAggregate = action?.kind === 'aggregate';
  const parameters = action?.parameters ?? [];
  if (!isAggregate && filters.length === 0 && sort.length === 0 && !search && parameters.length === 0) return null;
  return {
    filters: filters.flatMap(({ field, operators }) => operators.map((operator) => filterParameter(field, operator))),
    sort: isAggregate ? [] : sort.map(({ field }) => field),
    search: (search?.fields ?? []).map(({ field }) => field),
    by: isAggregate ? (aggregate?.by ?? []).map(({ field }) => field) : [],
    of: isAggregate ? (aggregate?.of ?? []).flatMap(({ field, functions }) => functions.map((name) => `${field}:${name}`)) : [],
    parameters: parameters.map(({ name, required }) => (required ? `${name} (required)` : name)),
  };
}

/** The columns of the aggregates of a list: `kind`, `bornAt:month`, `amount:sum`. */
export function aggregateNames(list: ListDeclaration | null): readonly DeclaredPath[] {
  const { by = [], of = [] } = list?.aggregate ?? {};
  return [...by, ...of.flatMap(({ field, functions, path }) => functions.map((name) => ({ field: `${field}:${name}`, path })))];
}

/** The query parameters in one line: `lastName, lastName[contains]; sort: lastName; q: firstName, lastName`. */
export function parameterText({ by, filters, of, parameters, search, sort }: ParameterNames): string {
  const parts = [
    ...(parameters.length > 0 ? [parameters.join(', ')] : []),
    ...(filters.length > 0 ? [filters.join(', ')] : []),
    ...(sort.length > 0 ? [`sort: ${sort.join(', ')}`] : []),
    ...(by.length > 0 ? [`by: ${by.join(', ')}`] : []),
    ...(of.length > 0 ? [`of: ${of.join(', ')}`] : []),
    ...(search.length > 0 ? [`q: ${search.join(', ')}`] : []),
  ];
  return parts.join('; ');
}
