import { filterParameter } from '../filter-operators.ts';
import type { ActionDeclaration } from '../types.ts';

export interface ParameterNames {
  /** `lastName`, `lastName[contains]` */
  readonly filters: readonly string[];
  readonly sort: readonly string[];
  /** The fields of `?q=`. */
  readonly search: readonly string[];
  /** Query parameters that the action declares. */
  readonly parameters: readonly string[];
}

/** The query parameters of an action: its own and, with `withList`, those of its list; null if it declares none. */
export function parameterNames(action: ActionDeclaration | null, withList = true): ParameterNames | null {
  const { filters = [], sort = [], search = null } = (withList && action?.list) || {};
  const parameters = action?.parameters ?? [];
  if (filters.length === 0 && sort.length === 0 && !search && parameters.length === 0) return null;
  return {
    filters: filters.flatMap(({ field, operators }) => operators.map((operator) => filterParameter(field, operator))),
    sort: sort.map(({ field }) => field),
    search: (search?.fields ?? []).map(({ field }) => field),
    parameters: parameters.map(({ name, required }) => (required ? `${name} (required)` : name)),
  };
}

/** The query parameters in one line: `lastName, lastName[contains]; sort: lastName; q: firstName, lastName`. */
export function parameterText({ filters, parameters, search, sort }: ParameterNames): string {
  const parts = [
    ...(parameters.length > 0 ? [parameters.join(', ')] : []),
    ...(filters.length > 0 ? [filters.join(', ')] : []),
    ...(sort.length > 0 ? [`sort: ${sort.join(', ')}`] : []),
    ...(search.length > 0 ? [`q: ${search.join(', ')}`] : []),
  ];
  return parts.join('; ');
}
