import { type EntityMetadata, QueryFlag } from '@mikro-orm/core';
import type { SortKey } from '../declaration/types.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import type { KeyQuery } from './compiled-read.ts';
import { inTotalOrder, type Window } from './keys.ts';
import type { AnyQueryBuilder } from './restriction.ts';

/** The keys of a window of a plain query, as text for a compiled read. */
export function windowKeys(
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { offset, limit }: Window,
  sort: readonly SortKey[],
): KeyQuery {
  const ordered = inTotalOrder(query.clone(), meta, sort).unsetFlag(QueryFlag.DISTINCT);
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
