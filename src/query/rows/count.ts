import type { CountMode } from '../../declaration/types.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import type { QueryText } from './bound-statement.ts';
import type { Window } from './seek/seek-plan.ts';

/** `all` counts all rows. `rows` selects them, for a count that stops early or is estimated. */
export interface CountSource {
  readonly all: QueryText;
  readonly rows: QueryText | null;
}

/** Up to this number, rows are counted even if an estimate is allowed. */
const leastEstimate = 10_000;

/** Counts rows in the mode that a list declares. `first` sends a statement and returns the first column of its first row. */
export async function countRows(
  { all, rows }: CountSource,
  mode: CountMode,
  { sql: { estimate } }: Dialect,
  first: (statement: QueryText) => Promise<unknown>,
): Promise<Counted> {
  const isEstimated = mode === 'estimated' && estimate !== null;
  const limit = isEstimated ? leastEstimate : typeof mode === 'object' ? mode.capped : null;
  if (limit === null || !rows) return countedFrom(Number(await first(all)), mode);
  const { params, sql } = rows;
  const found = Number(await first({ sql: `select count(*) as n from (${sql} limit ${limit + 1}) as counted`, params }));
  if (!isEstimated || found <= limit) return countedTo(found, limit);
  const estimated = estimate.rowsIn(await first({ sql: estimate.statement(sql), params }));
  // at least so many rows were counted
  return { count: Math.max(leastEstimate + 1, estimated), is: 'estimated' };
}

/** The count of a list whose number of rows is known. */
export function countedFrom(number: number, mode: CountMode): Counted {
  return countedTo(number, typeof mode === 'object' ? mode.capped : null);
}

function countedTo(found: number, limit: number | null): Counted {
  return limit !== null && found > limit ? { count: limit, is: 'capped' } : { count: found, is: 'exact' };
}

/**
 * The count of a list for a page that begins after all of its rows. The database has passed all of them to get there, so it may
 * count them as well.
 */
export async function countedPastEnd(counted: Counted, mode: CountMode, all: () => Promise<unknown>): Promise<Counted> {
  if (counted.is === 'exact') return counted;
  const end = Number(await all());
  return { ...countedFrom(end, mode), end };
}

/**
 * The number of all rows, which is known if the page is not full; otherwise null. Unless the mode is exact, one row more than the
 * page takes was selected.
 */
export function totalFromPage(found: number, { offset, limit }: Window, mode: CountMode): number | null {
  const isLast = mode === 'exact' ? found < limit : found <= limit;
  return isLast && (found > 0 || offset === 0) ? offset + found : null;
}
