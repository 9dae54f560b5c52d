import { type EntityMetadata, helper, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { SortKey } from '../../declaration/types.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import { applyListQuery } from '../list/apply-list-query.ts';
import { emptyListQuery, type ListQuery } from '../list/list-query.ts';
import { countedFrom, countedPastEnd, numberTold } from '../rows/count.ts';
import type { Window } from '../rows/seek-plan.ts';
import { cutSought, sidesOf } from '../rows/seek-query.ts';
import { type ListPlan, pageQueries } from './key-query.ts';
import { countBy, keyOrder, keysSelected, orderOf, sentKeys } from './keys.ts';
import { type AnyQueryBuilder, filteredQuery, unrestrictedQuery } from './restriction.ts';

export interface FetchedPage {
  readonly counted: Counted;
  readonly rows: readonly object[];
  readonly edges: PageEdges;
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
    return queriedPage(
      em,
      meta,
      applyListQuery(() => em, meta, restricted, asked, list.ownSort),
      window,
      list,
    );
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
  { limit, offset }: Window,
  { count, ownSort, sort }: Omit<ListPlan, 'seek'>,
  asked: ListQuery = emptyListQuery,
): Promise<FetchedPage> {
  const narrowed = applyListQuery(() => em, meta, await filteredQuery(em, meta, query), asked, ownSort);
  const page = await queriedPage(em, meta, narrowed, { limit, offset }, { sort, ownSort, count, seek: null });
  // what a handler shows of the rows is its own affair, and so are parameters of whatever name
  const { first: _, last: __, ...edges } = page.edges;
  return { ...page, edges };
}

/** The page of a query: its number, its keys, and then its rows. */
async function queriedPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  plan: ListPlan,
): Promise<FetchedPage> {
  const { count, seek: going, sort } = plan;
  const { limit, offset, seek } = window;
  const { counted: source, following, inOrder, keys } = pageQueries(em, meta, query, window, plan);
  const counted = await countBy(em, source, count);
  if (!seek && counted.is === 'exact' && offset >= counted.count) return { rows: [], counted, edges: noEdges };
  const found = await sentKeys(em, meta, keys);
  if (seek && going) {
    const follows = following !== null && (await sentKeys(em, meta, following)).length > 0;
    const { rows: page, beyond } = cutSought(found, seek, limit);
    const rows = await rowsOf(em, meta, page, { query, sort });
    const edges = rows.length > 0 ? await going.edgesOf(rows) : going.edgesOfNone(seek);
    return { rows, counted, edges: { ...edges, ...sidesOf(seek, beyond, follows) } };
  }
  const rows = await rowsOf(em, meta, found.slice(0, limit), { query, sort });
  const edges = going && inOrder ? await going.edgesOf(rows) : noEdges;
  if (count === 'exact') return { rows, counted, edges };
  const told = numberTold(found.length, window, count);
  const known =
    found.length === 0
      ? await countedPastEnd(counted, count, async () => (await countBy(em, source, 'exact')).count)
      : told === null
        ? counted
        : countedFrom(told, count);
  return { rows, counted: known, edges: { ...edges, more: found.length > limit } };
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
