import type { CountMode } from '../../declaration/types.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import type { Window } from './window.ts';

/** Fewer rows than this are counted, also where an estimate would do. */
export const leastEstimate = 10_000;

/** How far rows are counted; null: to the end, as also where the database cannot estimate. */
export function countLimit(mode: CountMode, { sql }: Dialect): number | null {
  if (mode === 'exact') return null;
  if (mode === 'estimated') return sql.estimate ? leastEstimate : null;
  return mode.capped;
}

/** What a list says of its number of rows, of which `found` were counted. */
export function countedTo(found: number, limit: number | null): Counted {
  return limit !== null && found > limit ? { count: limit, is: 'capped' } : { count: found, is: 'exact' };
}

/** What a list says of its number of rows, where that is known. */
export function countedFrom(number: number, mode: CountMode): Counted {
  return countedTo(number, typeof mode === 'object' ? mode.capped : null);
}

/** The number of rows that a page tells by not being full; null where it does not. What is not exact asks for one row more than it takes. */
export function numberTold(found: number, { offset, limit }: Window, mode: CountMode): number | null {
  const isLast = mode === 'exact' ? found < limit : found <= limit;
  return isLast && (found > 0 || offset === 0) ? offset + found : null;
}

/** Counts at most one more than `limit` of the rows that a text selects. */
export function cappedCountText(rows: string, limit: number): string {
  return `select count(*) as n from (${rows} limit ${limit + 1}) as counted`;
}

/** What a list says of a number of rows that was estimated. */
export function countedAbout(estimate: number): Counted {
  // that there are more than this many is known
  return { count: Math.max(leastEstimate + 1, estimate), is: 'estimated' };
}
