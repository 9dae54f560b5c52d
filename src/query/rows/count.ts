import type { CountMode } from '../../declaration/types.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import type { QueryText } from './bound-statement.ts';
import type { Window } from './seek-plan.ts';

/** What is counted: the statement that counts all of it, and the one that selects it, where that is not done. */
export interface CountSource {
  readonly all: QueryText;
  readonly rows: QueryText | null;
}

/** Fewer rows than this are counted, also where an estimate would do. */
const leastEstimate = 10_000;

/** Counts rows as far as a list declares it. `first` sends a statement and gives the first column of its first row. */
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
  // that there are more than this many is known
  return { count: Math.max(leastEstimate + 1, estimated), is: 'estimated' };
}

/** What a list says of its number of rows, where that is known. */
export function countedFrom(number: number, mode: CountMode): Counted {
  return countedTo(number, typeof mode === 'object' ? mode.capped : null);
}

function countedTo(found: number, limit: number | null): Counted {
  return limit !== null && found > limit ? { count: limit, is: 'capped' } : { count: found, is: 'exact' };
}

/** The count of a list for a page that begins after all of its rows. To get there, the database has passed all of them, so that it may count them as well. */
export async function countedPastEnd(counted: Counted, mode: CountMode, all: () => Promise<unknown>): Promise<Counted> {
  if (counted.is === 'exact') return counted;
  const end = Number(await all());
  return { ...countedFrom(end, mode), end };
}

/** The number of rows that a page tells by not being full; null where it does not. What is not exact asks for one row more than it takes. */
export function numberTold(found: number, { offset, limit }: Window, mode: CountMode): number | null {
  const isLast = mode === 'exact' ? found < limit : found <= limit;
  return isLast && (found > 0 || offset === 0) ? offset + found : null;
}
