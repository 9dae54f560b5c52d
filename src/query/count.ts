import type { DatabaseKind } from '../database/mapper.ts';
import type { CountMode } from '../declaration/types.ts';
import type { Counted } from '../response/collection.ts';
import type { Window } from './window.ts';

/** Fewer rows than this are counted, also where an estimate would do. */
export const leastEstimate = 10_000;

/** How far rows are counted; null: to the end. SQLite has no estimate to give, so there they are. */
export function countLimit(mode: CountMode, database: DatabaseKind): number | null {
  if (mode === 'exact') return null;
  if (mode === 'estimated') return database === 'postgresql' ? leastEstimate : null;
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

/** Has PostgreSQL say how many rows it expects of a text, without running it. */
export function estimateText(rows: string): string {
  return `explain (format json) ${rows}`;
}

/** The number in the answer to that, as the driver gives it: text, or parsed already. */
export function estimateIn(answer: unknown): Counted {
  const [{ Plan: plan }] = (typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: { 'Plan Rows': number } }];
  // that there are more than this many is known
  return { count: Math.max(leastEstimate + 1, Math.round(plan['Plan Rows'])), is: 'estimated' };
}
