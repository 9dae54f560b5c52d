import type { EntityMetadata, IDatabaseDriver } from '@mikro-orm/core';
import { hasColumn } from './wanted-tables.ts';

/** MikroORM wraps the error, but keeps its code. */
const missing = 'DECLAREST_MISSING_COLUMN';

/** Whether a row of the database lacked a column of its model. */
export function isMissingColumn(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === missing;
}

/** The parts of a query builder that are read here. */
interface RowsQuery {
  readonly state?: { readonly fields?: readonly unknown[] };
  readonly mainAlias?: { readonly aliasName: string; readonly subQuery?: unknown };
}

type MapResult = (
  row: object | null,
  meta: EntityMetadata | undefined,
  populate?: unknown,
  query?: RowsQuery,
  map?: unknown,
) => object;

const columns = new WeakMap<EntityMetadata, readonly string[]>();
const checked = new WeakSet<RowsQuery>();

/**
 * MikroORM selects `*` and reads a missing column as null. This checks the first row of each such query: all rows have the same
 * columns.
 */
export function checkColumns(driver: IDatabaseDriver): void {
  const own = driver as unknown as { mapResult: MapResult };
  const mapResult = own.mapResult.bind(driver);
  own.mapResult = (row, meta, populate, query, map) => {
    if (row && meta && query && !checked.has(query)) {
      checked.add(query);
      if (selectsAll(query)) checkRow(row, meta);
    }
    return mapResult(row, meta, populate, query, map);
  };
}

function selectsAll({ mainAlias, state }: RowsQuery): boolean {
  if (!mainAlias || mainAlias.subQuery || !state?.fields) return false;
  return state.fields.includes('*') || state.fields.includes(`${mainAlias.aliasName}.*`);
}

function checkRow(row: object, meta: EntityMetadata): void {
  let needed = columns.get(meta);
  if (!needed) {
    // the tables of the other classes are joined, and the query names their columns
    const properties = meta.inheritanceType === 'tpt' ? (meta.ownProps ?? []) : meta.props;
    needed = meta.virtual ? [] : properties.filter(hasColumn).flatMap(({ fieldNames }) => fieldNames);
    columns.set(meta, needed);
  }
  for (const column of needed) if (!(column in row)) throw missingColumn(meta.className, column);
}

function missingColumn(model: string, column: string): Error {
  return Object.assign(new Error(`a row of ${model} has no column ${column}`), { code: missing });
}
