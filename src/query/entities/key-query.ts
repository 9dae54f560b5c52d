import type { EntityMetadata } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { refusedToken } from '../../response/page-request.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import type { CountSource } from '../rows/count.ts';
import type { Window } from '../rows/seek-plan.ts';
import { complementOf, type SeekPlan } from '../rows/seek-plan.ts';
import { canSeek, seekIn } from '../rows/seek-query.ts';
import { countSource, orderedKeys } from './keys.ts';
import { type AnyQueryBuilder, isPlain } from './restriction.ts';

/** What a list is, beyond its model: its order, how it is counted, and how it goes on from a row of it. */
export interface ListPlan {
  readonly sort: readonly SortKey[];
  /** The order if nothing is asked, which decides what a restriction to a number of rows lets through. */
  readonly ownSort: readonly SortKey[];
  readonly count: CountMode;
  readonly seek: SeekPlan | null;
}

/** The queries behind a page. */
export interface PageQueries {
  /** Its keys, in order: one more than the page takes, if the number of all does not say whether there are more. */
  readonly keys: QueryText;
  readonly counted: CountSource;
  /** A row that follows a page that is sought backwards. */
  readonly following: QueryText | null;
  /** Whether the keys are in the order that the list declares, so that it can go on from a row of it. */
  readonly inOrder: boolean;
  /** Whether the number is wanted before any key: the query may be one that fails where there is nothing to order. */
  readonly countsFirst: boolean;
}

/** The queries of a window of any query. */
export function pageQueries(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { limit, offset, seek }: Window,
  { sort, count, seek: plan }: ListPlan,
): PageQueries {
  const inOrder = plan !== null && canSeek(query);
  const shared = { counted: countSource(em, meta, query, count), inOrder, countsFirst: !isPlain(query) };
  if (!seek) {
    const window = { offset, limit: count === 'exact' ? limit : limit + 1 };
    return { ...shared, keys: orderedKeys(em, meta, query, sort, window), following: null };
  }
  if (!inOrder) throw refusedToken(seek.direction);
  const backwards = seek.direction === 'before';
  const sought = (at: typeof seek, size: number, isBackwards: boolean) =>
    orderedKeys(em, meta, seekIn(query.clone() as AnyQueryBuilder, plan, at), sort, { offset: 0, limit: size }, isBackwards);
  return {
    ...shared,
    keys: sought(seek, limit + 1, backwards),
    following: backwards ? sought(complementOf(seek), 1, false) : null,
  };
}
