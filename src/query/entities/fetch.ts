import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { TooLargeError } from '../../database/too-large.ts';
import type { SortKey } from '../../declaration/types.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { entityKey, type Identifier } from '../../model/identifier.ts';
import { hasKey, hasOneOf, isSelected } from '../../model/key-condition.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import { applyListQuery } from '../list/apply-list-query.ts';
import { emptyListQuery, type ListQuery } from '../list/list-query.ts';
import { countedFrom, countedPastEnd, totalFromPage } from '../rows/count.ts';
import type { Window } from '../rows/seek/seek-plan.ts';
import { cutSought, sidesOf } from '../rows/seek/seek-query.ts';
import { type ListPlan, pageQueries } from './key-query.ts';
import { countBy, keyOrder, keysAmong, keysSelected, orderOf, sentKeys } from './keys.ts';
import { type AnyQueryBuilder, filteredQuery, unrestrictedQuery } from './restriction.ts';

/** Rows of a page that are read first, to estimate the size of the others. */
const firstStep = 20;

/** The maximum number of rows of a page that one statement reads. */
const mostInStep = 500;

export interface FetchedPage {
  readonly counted: Counted;
  readonly rows: readonly object[];
  readonly edges: PageEdges;
}

/** Fetches one row through a restriction, or null. `sort` decides which rows a restriction with a limit lets through. */
export async function fetchOne(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restriction: AnyQueryBuilder | null,
  sort: readonly SortKey[] = [],
): Promise<object | null> {
  if (!restriction) return em.findOne(meta.class, hasKey(meta, id));
  // One statement: a row that leaves the restriction meanwhile is not shown. Only the restriction names the key: outside of it,
  // the database would find out about a missing row before it evaluates the restriction, and so sooner than about a hidden one.
  const among = isSelected(meta, em.getPlatform(), keysAmong(em, meta, restriction, [id], sort));
  return em.findOne(meta.class, { $and: [among] } as never);
}

/** Fetches a window of the model's rows in a total order, and the number of all rows. */
export async function fetchPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  window: Window,
  restriction: AnyQueryBuilder | null,
  list: ListPlan,
  listQuery: ListQuery = emptyListQuery,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<FetchedPage> {
  const { limit, offset, seek } = window;
  if (restriction || seek || list.count !== 'exact' || listQuery.condition || limit > firstStep) {
    const restricted = restriction ?? (await unrestrictedQuery(em, meta));
    return queriedPage(
      em,
      meta,
      applyListQuery(() => em, meta, restricted, listQuery, list.ownSort),
      window,
      list,
      mostBytes,
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
  listQuery: ListQuery = emptyListQuery,
): Promise<FetchedPage> {
  const narrowed = applyListQuery(() => em, meta, await filteredQuery(em, meta, query), listQuery, ownSort);
  const page = await queriedPage(em, meta, narrowed, { limit, offset }, { sort, ownSort, count, seek: null });
  // no tokens: the handler decides which fields it shows, and may have parameters named `after` and `before` of its own
  const { first: _, last: __, ...edges } = page.edges;
  return { ...page, edges };
}

/** The page of a query. Counts first, then selects keys, then reads the rows. */
async function queriedPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  plan: ListPlan,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<FetchedPage> {
  const { count, seek: seekPlan, sort } = plan;
  const { limit, offset, seek } = window;
  const { counted: source, following, inOrder, keys } = pageQueries(em, meta, query, window, plan);
  const counted = await countBy(em, source, count);
  if (!seek && counted.is === 'exact' && offset >= counted.count) return { rows: [], counted, edges: noEdges };
  const found = await sentKeys(em, meta, keys);
  if (seek && seekPlan) {
    const follows = following !== null && (await sentKeys(em, meta, following)).length > 0;
    const { rows: page, beyond } = cutSought(found, seek, limit);
    const rows = await rowsOf(em, meta, page, { query, sort, mostBytes });
    const edges = rows.length > 0 ? await seekPlan.edgesOf(rows) : seekPlan.edgesOfNone(seek);
    return { rows, counted, edges: { ...edges, ...sidesOf(seek, beyond, follows) } };
  }
  const rows = await rowsOf(em, meta, found.slice(0, limit), { query, sort, mostBytes });
  const edges = seekPlan && inOrder ? await seekPlan.edgesOf(rows) : noEdges;
  if (count === 'exact') return { rows, counted, edges };
  const total = totalFromPage(found.length, window, count);
  const known =
    found.length === 0
      ? await countedPastEnd(counted, count, async () => (await countBy(em, source, 'exact')).count)
      : total === null
        ? counted
        : countedFrom(total, count);
  return { rows, counted: known, edges: { ...edges, more: found.length > limit } };
}

interface Among {
  readonly query: AnyQueryBuilder;
  readonly sort: readonly SortKey[];
  /** If the rows are larger, {@link TooLargeError} is thrown. */
  readonly mostBytes: number;
}

/** The rows with these keys, in the order of the keys. Rows that have left the query since are left out. */
export async function rowsOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  keys: readonly unknown[],
  among: Among | null = null,
): Promise<readonly object[]> {
  if (keys.length === 0) return [];
  const platform = em.getPlatform();
  const selected = among && keysSelected(em, meta, among.query, among.sort);
  const conditions = () => (selected ? [isSelected(meta, platform, selected)] : []);
  const read = (some: readonly unknown[]) =>
    em.find(meta.class, { $and: [hasOneOf(meta, platform, some), ...conditions()] } as never);
  const rows = await (among ? readInSteps(keys, among.mostBytes, read) : read(keys));
  const position = new Map(keys.map((key, index) => [String(key), index]));
  const placeOf = (row: object) => position.get(String(entityKey(row))) ?? 0;
  return rows.sort((a, b) => placeOf(a) - placeOf(b));
}

/** Reads some rows first, and then as many at a time as should fit by the size of those read, in several turns of the event loop. */
async function readInSteps(
  keys: readonly unknown[],
  mostBytes: number,
  read: (keys: readonly unknown[]) => Promise<object[]>,
): Promise<object[]> {
  const rows: object[] = [];
  let bytes = 0;
  for (let start = 0; start < keys.length; ) {
    if (isTurnLong()) await nextTurn();
    const fitting = Math.floor(((mostBytes - bytes) * start) / (bytes + 1));
    const size = start === 0 ? firstStep : Math.min(Math.max(fitting, 1), mostInStep);
    const found = await read(keys.slice(start, start + size));
    for (const row of found) bytes += bytesOf(row);
    if (bytes > mostBytes) throw new TooLargeError(mostBytes);
    rows.push(...found);
    start += size;
  }
  return rows;
}

/** The approximate bytes of the columns that can be large. */
function bytesOf(row: object): number {
  let bytes = 0;
  for (const value of Object.values(helper(row).__originalEntityData ?? {})) {
    if (typeof value === 'string') bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.byteLength;
  }
  return bytes;
}
