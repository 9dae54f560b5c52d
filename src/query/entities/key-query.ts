import { type EntityMetadata, QueryFlag } from '@mikro-orm/core';
import type { SortKey } from '../../declaration/types.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import { refusedToken } from '../../response/page-request.ts';
import type { PageQueries } from '../rows/compiled-read.ts';
import type { KeyQuery } from '../rows/parametrized.ts';
import { complementOf } from '../rows/seek-plan.ts';
import { canSeek, seekIn } from '../rows/seek-query.ts';
import type { Window } from '../rows/window.ts';
import type { ListPlan } from './fetch.ts';
import { inTotalOrder, keysOfAll } from './keys.ts';
import type { AnyQueryBuilder } from './restriction.ts';

/** The queries of a window of a plain query, as texts for a compiled read. */
export function pageQueries(
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  { sort, count: mode, seek: plan }: ListPlan,
): PageQueries {
  const { limit, offset, seek } = window;
  const inOrder = canSeek(query);
  const shared = { count: countQuery(meta, query), all: mode === 'exact' ? null : keysOfAll(meta, query), inOrder };
  // one more than the page takes, to know whether there is more
  const further = limit + 1;
  if (!seek) {
    const keys = keysIn(meta, query.clone(), sort, mode === 'exact' ? limit : further, offset);
    return { ...shared, keys, following: null };
  }
  if (!inOrder || !plan) throw refusedToken(seek.direction);
  const sought = seekIn(query.clone(), plan, seek);
  return {
    ...shared,
    keys: keysIn(meta, sought, sort, further, undefined, seek.direction === 'before'),
    following: seek.direction === 'before' ? keysIn(meta, seekIn(query.clone(), plan, complementOf(seek)), sort, 1) : null,
  };
}

function keysIn(
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
  limit: number,
  offset?: number,
  backwards = false,
): KeyQuery {
  const ordered = inTotalOrder(query, meta, sort, backwards).unsetFlag(QueryFlag.DISTINCT);
  return (ordered.select(keyOf(meta).name as never).limit(limit, offset) as AnyQueryBuilder).toQuery();
}

/** The number of rows of a plain query. */
export function countQuery(meta: EntityMetadata, query: AnyQueryBuilder): KeyQuery {
  return (query.clone(['orderBy']).count(keyOf(meta).name as never, false) as unknown as AnyQueryBuilder).toQuery();
}

/** One key of a plain query, if it selects it. */
export function singleKey(meta: EntityMetadata, query: AnyQueryBuilder, id: Identifier): KeyQuery {
  const { name } = keyOf(meta);
  const one = query.clone(['orderBy']).andWhere({ [name]: id } as never);
  return (
    one
      .unsetFlag(QueryFlag.DISTINCT)
      .select(name as never)
      .limit(1) as AnyQueryBuilder
  ).toQuery();
}
