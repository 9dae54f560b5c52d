import type { EntityMetadata } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { invalidToken } from '../../response/page-request.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import type { CountSource } from '../rows/count.ts';
import type { Window } from '../rows/seek/seek-plan.ts';
import { complementOf, type SeekPlan } from '../rows/seek/seek-plan.ts';
import { canSeek, seekIn } from '../rows/seek/seek-query.ts';
import { countSource, orderedKeys } from './keys.ts';
import { type AnyQueryBuilder, isPlain } from './restriction.ts';

/** How a list is ordered, how it is counted, and how it continues from one of its rows. */
export interface ListPlan {
  readonly sort: readonly SortKey[];
  /** The default order. It decides which rows a restriction with a limit lets through. */
  readonly ownSort: readonly SortKey[];
  readonly count: CountMode;
  readonly seek: SeekPlan | null;
}

/** The queries behind a page. */
export interface PageQueries {
  /** The keys in order. Selects one more than the page takes, if the count does not tell whether there are more. */
  readonly keys: QueryText;
  readonly counted: CountSource;
  /** Selects a row after a page that is sought backwards. */
  readonly following: QueryText | null;
  /** Whether the keys are in the order that the list declares, so that it can continue from one of its rows. */
  readonly inOrder: boolean;
  /** Whether to count before keys are selected: the query may be one that fails if there is nothing to order. */
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
  if (!inOrder) throw invalidToken(seek.direction);
  const backwards = seek.direction === 'before';
  const sought = (at: typeof seek, size: number, isBackwards: boolean) =>
    orderedKeys(em, meta, seekIn(query.clone() as AnyQueryBuilder, plan, at), sort, { offset: 0, limit: size }, isBackwards);
  return {
    ...shared,
    keys: sought(seek, limit + 1, backwards),
    following: backwards ? sought(complementOf(seek), 1, false) : null,
  };
}
