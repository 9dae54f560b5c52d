import { type EntityMetadata, helper, type QueryOrderMap } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { type AnyQueryBuilder, hasJoins, type Restrict, restrictedQuery } from './restriction.ts';

/** A window of a result set. */
export interface Window {
  readonly offset: number;
  readonly limit: number;
}

export interface FetchedPage {
  readonly count: number;
  readonly rows: readonly object[];
}

/** Fetches one row through the restriction, or null. */
export async function fetchOne(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restrict: Restrict | null,
): Promise<object | null> {
  if (restrict && !(await isVisible(em, meta, id, restrict))) return null;
  return em.findOne(meta.class, { [keyOf(meta).name]: id } as never);
}

/** Whether the restriction lets a row through. */
export async function isVisible(
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  restrict: Restrict,
): Promise<boolean> {
  const key = keyOf(meta).name as string;
  const query = await restrictedQuery(em, meta, restrict);
  query.andWhere({ [key]: id } as never);
  const rows = await (query.select(key as never).limit(1) as AnyQueryBuilder).execute('all', false);
  return rows.length > 0;
}

/** Fetches a window of the model's rows, totally ordered, and the exact number of all of them. */
export async function fetchPage(
  em: RequestEntityManager,
  meta: EntityMetadata,
  { offset, limit }: Window,
  sort: readonly SortKey[],
  restrict: Restrict | null,
): Promise<FetchedPage> {
  if (restrict) return pageOf(em, meta, await restrictedQuery(em, meta, restrict), { offset, limit }, sort);
  const orderBy = [...sort.map(orderOf), keyOrder(meta)] as never;
  const [rows, count] = await em.findAndCount(meta.class, {} as never, { offset, limit, orderBy });
  return { rows: rows as object[], count };
}

/** The window of any query on the model: keys first, in the query's own order, then their rows. */
export async function pageOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { offset, limit }: Window,
  sort: readonly SortKey[],
): Promise<FetchedPage> {
  const key = keyOf(meta).name as string;
  const count = Number(await query.clone().getCount(key as never, hasJoins(query)));
  if (offset >= count) return { rows: [], count };
  const keys = query.clone() as AnyQueryBuilder;
  if (keys.state.orderBy.length === 0) for (const sortKey of sort) keys.andOrderBy(orderOf(sortKey) as never);
  keys.andOrderBy(keyOrder(meta) as never);
  const found: Record<string, unknown>[] = await (keys.select(key as never).limit(limit, offset) as AnyQueryBuilder).execute(
    'all',
  );
  const ids = [...new Set(found.map((row) => row[key]))];
  const rows = (await em.find(meta.class, { [key]: { $in: ids } } as never)) as object[];
  const position = new Map(ids.map((id, index) => [String(id), index]));
  const placeOf = (row: object) => position.get(String(helper(row).getPrimaryKey())) ?? 0;
  return { rows: rows.sort((a, b) => placeOf(a) - placeOf(b)), count };
}

/** `center.name` descending → `{ center: { name: 'desc' } }` */
function orderOf({ property, direction }: SortKey): QueryOrderMap<object> {
  return property.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), direction) as QueryOrderMap<object>;
}

/** Ends every order: with it no two rows are equal. */
function keyOrder(meta: EntityMetadata): QueryOrderMap<object> {
  return { [keyOf(meta).name]: 'asc' } as QueryOrderMap<object>;
}
