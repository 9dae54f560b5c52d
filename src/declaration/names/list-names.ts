import { filterParameter } from '../filter-operators.ts';
import type { ListDeclaration } from '../types.ts';

export interface AskedNames {
  /** `lastName`, `lastName[contains]` */
  readonly filters: readonly string[];
  readonly sort: readonly string[];
  /** What `?q=` searches in. */
  readonly search: readonly string[];
}

/** The parameters of a list; null if it declares none. */
export function askedNames(list: ListDeclaration | null): AskedNames | null {
  if (!list || (list.filters.length === 0 && list.sort.length === 0 && !list.search)) return null;
  return {
    filters: list.filters.flatMap(({ field, operators }) => operators.map((operator) => filterParameter(field, operator))),
    sort: list.sort.map(({ field }) => field),
    search: (list.search?.fields ?? []).map(({ field }) => field),
  };
}

/** The same in one line: `lastName, lastName[contains]; sort: lastName; q: firstName, lastName`. */
export function askedText({ filters, search, sort }: AskedNames): string {
  const parts = [
    ...(filters.length > 0 ? [filters.join(', ')] : []),
    ...(sort.length > 0 ? [`sort: ${sort.join(', ')}`] : []),
    ...(search.length > 0 ? [`q: ${search.join(', ')}`] : []),
  ];
  return parts.join('; ');
}
