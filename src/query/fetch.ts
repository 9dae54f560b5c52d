import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { countKeys, hasKey, keyOrder, keysOf, orderOf, type Window } from './keys.ts';
import { type AnyQueryBuilder, filteredQuery, type Restrict, restrictedQuery } from './restriction.ts';

export interface FetchedPage {
  readonly count: number;
  readonly rows: readonly object[];
}

/** Fetches one row through the restriction, or null. `sort` decides which rows a restriction to a number of rows lets through. */
export async function fetchOne(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restrict: Restrict | null,
  sort: readonly SortKey[] = [],
): Promise<object | null> {
  if (restrict && !(await isVisible(em, meta, id, restrict, sort))) return null;
  return em.findOne(meta.class, { [keyOf(meta).name]: id } as never);
}

/** Whether the restriction lets a row through. */
export async function isVisible(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restrict: Restrict,
  sort: readonly SortKey[] = [],
): Promise<boolean> {
  return hasKey(em, meta, await restrictedQuery(em, meta, restrict), id, sort);
}

/** Fetches a window of the model's rows, totally ordered, and the exact number of all of them. */
export async function fetchPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  { offset, limit }: Window,
  sort: readonly SortKey[],
  restrict: Restrict | null,
): Promise<FetchedPage> {
  if (restrict) return windowOf(em, meta, await restrictedQuery(em, meta, restrict), { offset, limit }, sort);
  const orderBy = [...sort.map(orderOf), keyOrder(meta)] as never;
  const count = await em.count(meta.class);
  const rows = offset < count ? await em.find(meta.class, {} as never, { offset, limit, orderBy }) : [];
  return { rows: rows as object[], count };
}

/** The window of any query on the model. */
export async function pageOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
): Promise<FetchedPage> {
  return windowOf(em, meta, await filteredQuery(em, meta, query), window, sort);
}

/** Keys first, in the query's own order, then their rows. */
async function windowOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
): Promise<FetchedPage> {
  const count = await countKeys(em, meta, query);
  if (window.offset >= count) return { rows: [], count };
  const keys = await keysOf(em, meta, query, window, sort);
  const rows = (await em.find(meta.class, { [keyOf(meta).name]: { $in: keys } } as never)) as object[];
  const position = new Map(keys.map((key, index) => [String(key), index]));
  const placeOf = (row: object) => position.get(String(helper(row).getPrimaryKey())) ?? 0;
  return { rows: rows.sort((a, b) => placeOf(a) - placeOf(b)), count };
}
