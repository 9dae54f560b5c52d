import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi } from '../schema/schema.ts';
import type { AggregateDeclaration, DeclaredPath, ListDeclaration, Path, SearchDeclaration, SortKey } from '../types.ts';

type WrittenList = Pick<WrittenApi | WrittenAction, 'filters' | 'sort' | 'default_sort' | 'search' | 'aggregate'>;

/** A list without parameters. */
export const emptyList: ListDeclaration = {
  filters: [],
  sort: [],
  search: null,
  aggregate: null,
  defaultSort: [],
  defaultSortPath: [],
};

/** The parameters of a list. Keys that were not written come from `fallback`. */
export function readList(written: WrittenList, path: Path, fallback: ListDeclaration, report: Report): ListDeclaration {
  return {
    ...fallback,
    ...(written.filters && {
      filters: written.filters.map(({ key, path: at, value }) => ({ field: String(key), path: at, operators: value })),
    }),
    ...(written.sort && { sort: declaredPaths(written.sort, [...path, 'sort']) }),
    ...(written.search && { search: readSearch(written.search, [...path, 'search']) }),
    ...(written.aggregate !== undefined && { aggregate: readAggregate(written.aggregate, [...path, 'aggregate']) }),
    ...(written.default_sort && readDefaultSort(written.default_sort, [...path, 'default_sort'], report)),
  };
}

const listKeys = ['filters', 'sort', 'default_sort', 'search', 'aggregate'] as const;

/** The parameters of the list of an action; null if its path has an id, because then it has no list. */
export function readActionList(
  written: WrittenList,
  path: Path,
  { isIndex, single }: { readonly isIndex: boolean; readonly single: boolean },
  fallback: ListDeclaration,
  report: Report,
): ListDeclaration | null {
  if (!single) {
    if (written.aggregate && !isIndex) report.add([...path, 'aggregate'], '"aggregate" is allowed for _index only', 'key');
    return readList(written, path, fallback, report);
  }
  for (const key of listKeys) {
    if (written[key] !== undefined)
      report.add([...path, key], `"${key}" is allowed for actions that return a list, and the path of this one has an id`, 'key');
  }
  return null;
}

function readSearch(written: NonNullable<WrittenList['search']>, path: Path): SearchDeclaration | null {
  const { fields, using, at } =
    'fields' in written ? { ...written, at: [...path, 'fields'] } : { fields: written, using: 'like' as const, at: path };
  return fields && fields.length > 0 ? { fields: declaredPaths(fields, at), using, path } : null;
}

function readAggregate(written: NonNullable<WrittenList['aggregate']> | null, path: Path): AggregateDeclaration | null {
  if (!written) return null;
  return {
    by: declaredPaths(written.by, [...path, 'by']),
    of: written.of.map(({ key, path: at, value }) => ({ field: String(key), path: at, functions: value })),
    maxGroups: written.max_groups,
    segment: written.path,
    path,
  };
}

function declaredPaths(fields: readonly string[], path: Path): readonly DeclaredPath[] {
  return fields.map((field, i) => ({ field, path: [...path, i] }));
}

function readDefaultSort(
  written: readonly string[],
  path: Path,
  report: Report,
): Pick<ListDeclaration, 'defaultSort' | 'defaultSortPath'> {
  const keys = written.map(
    (key): SortKey => (key.startsWith('-') ? { property: key.slice(1), direction: 'desc' } : { property: key, direction: 'asc' }),
  );
  for (const [i, { property }] of keys.entries()) {
    if (keys.findIndex((other) => other.property === property) < i)
      report.add([...path, i], `the property "${property}" is in "default_sort" twice`);
  }
  return { defaultSort: keys, defaultSortPath: keys.length === 0 ? [] : path };
}
