import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi } from '../schema.ts';
import type { DeclaredPath, ListDeclaration, Path, SearchDeclaration, SortKey } from '../types.ts';

type WrittenList = Pick<WrittenApi | WrittenAction, 'filters' | 'sort' | 'default_sort' | 'search'>;

/** What can be asked of a list that declares nothing. */
export const emptyList: ListDeclaration = Object.freeze({
  filters: Object.freeze([]),
  sort: Object.freeze([]),
  search: null,
  defaultSort: Object.freeze([]),
  defaultSortPath: Object.freeze([]),
});

/** What can be asked of a list. A key that was not written is that of `fallback`. */
export function readList(written: WrittenList, path: Path, fallback: ListDeclaration, report: Report): ListDeclaration {
  return Object.freeze({
    filters: written.filters
      ? Object.freeze(
          written.filters.map(({ key, path: at, value }) =>
            Object.freeze({ field: String(key), path: at, operators: Object.freeze([...value]) }),
          ),
        )
      : fallback.filters,
    sort: written.sort ? declaredPaths(written.sort, [...path, 'sort']) : fallback.sort,
    search: written.search ? readSearch(written.search, [...path, 'search']) : fallback.search,
    ...(written.default_sort
      ? readDefaultSort(written.default_sort, [...path, 'default_sort'], report)
      : { defaultSort: fallback.defaultSort, defaultSortPath: fallback.defaultSortPath }),
  });
}

const listKeys = ['filters', 'sort', 'default_sort', 'search'] as const;

/** The same for an action, which has a list where its path has no id. */
export function readActionList(
  written: WrittenList,
  path: Path,
  single: boolean,
  fallback: ListDeclaration,
  report: Report,
): ListDeclaration | null {
  if (!single) return readList(written, path, fallback, report);
  for (const key of listKeys) {
    if (written[key] !== undefined)
      report.add([...path, key], `"${key}" belongs to an action that gives a list, and the path of this one has an id`, 'key');
  }
  return null;
}

function readSearch(written: NonNullable<WrittenList['search']>, path: Path): SearchDeclaration | null {
  const using = 'fields' in written ? written.using : 'like';
  const fields = 'fields' in written ? written.fields : written;
  if (!fields || fields.length === 0) return null;
  const at = 'fields' in written ? [...path, 'fields'] : path;
  return Object.freeze({ fields: declaredPaths(fields, at), using, path: Object.freeze([...path]) });
}

function declaredPaths(fields: readonly string[], path: Path): readonly DeclaredPath[] {
  return Object.freeze(fields.map((field, i) => Object.freeze({ field, path: Object.freeze([...path, i]) })));
}

function readDefaultSort(
  written: readonly string[],
  path: Path,
  report: Report,
): Pick<ListDeclaration, 'defaultSort' | 'defaultSortPath'> {
  if (written.length === 0) return { defaultSort: Object.freeze([]), defaultSortPath: Object.freeze([]) };
  const keys = written.map(
    (key): SortKey =>
      Object.freeze(key.startsWith('-') ? { property: key.slice(1), direction: 'desc' } : { property: key, direction: 'asc' }),
  );
  for (const [i, { property }] of keys.entries()) {
    if (keys.findIndex((other) => other.property === property) < i)
      report.add([...path, i], `the property "${property}" is in "default_sort" twice`);
  }
  return { defaultSort: Object.freeze(keys), defaultSortPath: Object.freeze([...path]) };
}
