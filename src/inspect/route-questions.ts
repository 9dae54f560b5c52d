import type { HttpMethod, Path } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Places } from './places.ts';

/** Something that callers may ask of a list. */
export interface Question {
  readonly kind: 'filter' | 'sort' | 'search';
  /** The field, as it is named in JSON. */
  readonly field: string;
  /** How a filter may compare it; null for the others. */
  readonly operator: string | null;
  readonly place: string;
}

/** What callers may ask of the list that an action gives. A handler has to page through it for any of this to be answered. */
export function questionsOf({ action }: RouteRecord, method: HttpMethod, places: Places): readonly Question[] {
  if (!action?.list || (method !== 'GET' && method !== 'HEAD')) return [];
  const { filters, search, sort } = action.list;
  const question = (kind: Question['kind'], field: string, path: Path, operator: string | null = null): Question => ({
    kind,
    field,
    operator,
    place: places.ofConfig(path),
  });
  return [
    ...filters.flatMap(({ field, operators, path }) => operators.map((operator) => question('filter', field, path, operator))),
    ...sort.map(({ field, path }) => question('sort', field, path)),
    ...(search?.fields ?? []).map(({ field, path }) => question('search', field, path)),
  ];
}
