import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { noEdges, type PageEdges } from '../response/collection.ts';
import { refusedToken } from '../response/page-request.ts';
import { countKeys, hasKey, keyOrder, keysOf, orderOf, type Window } from './keys.ts';
import { type AnyQueryBuilder, filteredQuery, type Restrict, restrictedQuery } from './restriction.ts';
import { complementOf, type Seek, type SeekPlan } from './seek-plan.ts';
import { canSeek, cutSought, seekIn, sidesOf } from './seek-query.ts';

export interface FetchedPage {
  readonly count: number;
  readonly rows: readonly object[];
  readonly edges: PageEdges;
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
  window: Window,
  sort: readonly SortKey[],
  restrict: Restrict | null,
  plan: SeekPlan | null,
): Promise<FetchedPage> {
  const { limit, offset, seek } = window;
  if (restrict || seek) {
    const query = await restrictedQuery(em, meta, restrict ?? (() => undefined));
    if (seek) return soughtOf(em, meta, query, seek, limit, sort, plan);
    return windowOf(em, meta, query, window, sort, canSeek(query) ? plan : null);
  }
  const orderBy = [...sort.map(orderOf), keyOrder(meta)] as never;
  const count = await em.count(meta.class);
  const rows = (offset < count ? await em.find(meta.class, {} as never, { offset, limit, orderBy }) : []) as object[];
  return { rows, count, edges: plan ? await plan.edgesOf(rows) : noEdges };
}

/** The window of any query on the model. */
export async function pageOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
): Promise<FetchedPage> {
  return windowOf(em, meta, await filteredQuery(em, meta, query), window, sort, null);
}

async function windowOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
  plan: SeekPlan | null,
): Promise<FetchedPage> {
  const count = await countKeys(em, meta, query);
  if (window.offset >= count) return { rows: [], count, edges: noEdges };
  const rows = await rowsOf(em, meta, await keysOf(em, meta, query, window, sort));
  return { rows, count, edges: plan ? await plan.edgesOf(rows) : noEdges };
}

/** The rows next to another one, as a link of the list names it. */
async function soughtOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  seek: Seek,
  limit: number,
  sort: readonly SortKey[],
  plan: SeekPlan | null,
): Promise<FetchedPage> {
  if (!plan || !canSeek(query)) throw refusedToken(seek.direction);
  const count = await countKeys(em, meta, query);
  const backwards = seek.direction === 'before';
  const sought = seekIn(query.clone(), plan, seek);
  const found = await keysOf(em, meta, sought, { offset: 0, limit: limit + 1 }, sort, backwards);
  const following = backwards
    ? await keysOf(em, meta, seekIn(query.clone(), plan, complementOf(seek)), { offset: 0, limit: 1 }, sort)
    : [];
  const { rows: keys, beyond } = cutSought(found, seek, limit);
  const rows = await rowsOf(em, meta, keys);
  const edges = rows.length > 0 ? await plan.edgesOf(rows) : plan.edgesOfNone(seek);
  return { rows, count, edges: { ...edges, ...sidesOf(seek, beyond, following.length > 0) } };
}

/** The rows of keys, in the order of these. */
async function rowsOf(em: RequestEntityManager, meta: EntityMetadata, keys: readonly unknown[]): Promise<readonly object[]> {
  if (keys.length === 0) return [];
  const rows = (await em.find(meta.class, { [keyOf(meta).name]: { $in: keys } } as never)) as object[];
  const position = new Map(keys.map((key, index) => [String(key), index]));
  const placeOf = (row: object) => position.get(String(helper(row).getPrimaryKey())) ?? 0;
  return rows.sort((a, b) => placeOf(a) - placeOf(b));
}
