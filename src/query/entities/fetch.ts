import { type EntityMetadata, helper, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import { refusedToken } from '../../response/page-request.ts';
import { applyListQuery } from '../list/apply-list-query.ts';
import { emptyListQuery, type ListQuery } from '../list/list-query.ts';
import { countedFrom, numberTold } from '../rows/count.ts';
import { complementOf, type Seek, type SeekPlan } from '../rows/seek-plan.ts';
import { canSeek, cutSought, seekIn, sidesOf } from '../rows/seek-query.ts';
import type { Window } from '../rows/window.ts';
import { countOf, keyOrder, keysOf, keysSelected, orderOf } from './keys.ts';
import { type AnyQueryBuilder, filteredQuery, unrestrictedQuery } from './restriction.ts';

export interface FetchedPage {
  readonly counted: Counted;
  readonly rows: readonly object[];
  readonly edges: PageEdges;
}

/** What a list is, beyond its model: its order, how it is counted, and how it goes on from a row of it. */
export interface ListPlan {
  readonly sort: readonly SortKey[];
  readonly count: CountMode;
  readonly seek: SeekPlan | null;
}

/** Fetches one row through a restriction, or null. `sort` decides which rows a restriction to a number of rows lets through. */
export async function fetchOne(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restriction: AnyQueryBuilder | null,
  sort: readonly SortKey[] = [],
): Promise<object | null> {
  const { name } = keyOf(meta);
  if (!restriction) return em.findOne(meta.class, { [name]: id } as never);
  // one statement: a row that moves out of the restriction meanwhile is not shown
  const { params, sql } = keysSelected(em, meta, restriction, sort);
  const where = { $and: [{ [name]: id }, { [name]: { $in: raw(sql, [...params]) } }] };
  return em.findOne(meta.class, where as never);
}

/** Fetches a window of the model's rows, totally ordered, and the number of all of them. */
export async function fetchPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  window: Window,
  restriction: AnyQueryBuilder | null,
  list: ListPlan,
  asked: ListQuery = emptyListQuery,
): Promise<FetchedPage> {
  const { limit, offset, seek } = window;
  if (restriction || seek || list.count !== 'exact' || asked.condition) {
    const restricted = restriction ?? (await unrestrictedQuery(em, meta));
    const query = applyListQuery(em, meta, restricted, asked, list.sort);
    if (seek) return soughtOf(em, meta, query, seek, limit, list);
    return windowOf(em, meta, query, window, canSeek(query) ? list : { ...list, seek: null });
  }
  const orderBy = [...list.sort.map(orderOf), keyOrder(meta)] as never;
  const count = await em.count(meta.class);
  const rows = (offset < count ? await em.find(meta.class, {} as never, { offset, limit, orderBy }) : []) as object[];
  return { rows, counted: { count, is: 'exact' }, edges: list.seek ? await list.seek.edgesOf(rows) : noEdges };
}

/** The window of any query on the model, ordered by key unless it has an order of its own. */
export async function pageOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  { count, sort }: Pick<ListPlan, 'count' | 'sort'>,
  asked: ListQuery = emptyListQuery,
): Promise<FetchedPage> {
  const narrowed = applyListQuery(em, meta, await filteredQuery(em, meta, query), asked, sort);
  const page = await windowOf(em, meta, narrowed, window, { sort, count, seek: null });
  // what a handler shows of the rows is its own affair, and so are parameters of whatever name
  const { first: _, last: __, ...edges } = page.edges;
  return { ...page, edges };
}

async function windowOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { offset, limit }: Window,
  { sort, count, seek }: ListPlan,
): Promise<FetchedPage> {
  const counted = await countOf(em, meta, query, count);
  if (counted.is === 'exact' && offset >= counted.count) return { rows: [], counted, edges: noEdges };
  // one more than the page takes, to know whether there is more where the count does not say
  const found = await keysOf(em, meta, query, { offset, limit: count === 'exact' ? limit : limit + 1 }, sort);
  const rows = await rowsOf(em, meta, found.slice(0, limit), { query, sort });
  const edges = seek ? await seek.edgesOf(rows) : noEdges;
  if (count === 'exact') return { rows, counted, edges };
  const told = numberTold(found.length, { offset, limit }, count);
  const known = told === null ? counted : countedFrom(told, count);
  return { rows, counted: known, edges: { ...edges, more: found.length > limit } };
}

/** The rows next to another one, as a link of the list names it. */
async function soughtOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  seek: Seek,
  limit: number,
  { sort, count, seek: plan }: ListPlan,
): Promise<FetchedPage> {
  if (!plan || !canSeek(query)) throw refusedToken(seek.direction);
  const counted = await countOf(em, meta, query, count);
  const backwards = seek.direction === 'before';
  const sought = seekIn(query.clone(), plan, seek);
  const found = await keysOf(em, meta, sought, { offset: 0, limit: limit + 1 }, sort, backwards);
  const following = backwards
    ? await keysOf(em, meta, seekIn(query.clone(), plan, complementOf(seek)), { offset: 0, limit: 1 }, sort)
    : [];
  const { rows: keys, beyond } = cutSought(found, seek, limit);
  const rows = await rowsOf(em, meta, keys, { query, sort });
  const edges = rows.length > 0 ? await plan.edgesOf(rows) : plan.edgesOfNone(seek);
  return { rows, counted, edges: { ...edges, ...sidesOf(seek, beyond, following.length > 0) } };
}

/** The rows of keys, in the order of these, as far as a query still selects them: a row may have moved out of it since. */
export async function rowsOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  keys: readonly unknown[],
  among: { readonly query: AnyQueryBuilder; readonly sort: readonly SortKey[] } | null = null,
): Promise<readonly object[]> {
  if (keys.length === 0) return [];
  const { name } = keyOf(meta);
  const selected = among && keysSelected(em, meta, among.query, among.sort);
  const conditions = [
    { [name]: { $in: keys } },
    ...(selected ? [{ [name]: { $in: raw(selected.sql, [...selected.params]) } }] : []),
  ];
  const rows = (await em.find(meta.class, { $and: conditions } as never)) as object[];
  const position = new Map(keys.map((key, index) => [String(key), index]));
  const placeOf = (row: object) => position.get(String(helper(row).getPrimaryKey())) ?? 0;
  return rows.sort((a, b) => placeOf(a) - placeOf(b));
}
