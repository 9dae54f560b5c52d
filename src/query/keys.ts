import { type EntityMetadata, QueryFlag, type QueryOrderMap, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { CountMode, SortKey } from '../declaration/types.ts';
import { dialectOn } from '../dialect/dialect.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import type { Counted } from '../response/collection.ts';
import { cappedCountText, countedAbout, countedFrom, countedTo, countLimit } from './count.ts';
import { type AnyQueryBuilder, isPlain } from './restriction.ts';
import type { Window } from './window.ts';

interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** The number of rows of the model that a query selects, as far as it is asked for. */
export async function countOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  mode: CountMode,
): Promise<Counted> {
  const dialect = dialectOn(em.getPlatform());
  const limit = countLimit(mode, dialect);
  if (limit === null || !isPlain(query)) return countedFrom(await countKeys(em, meta, query), mode);
  const { sql, params } = keysOfAll(meta, query);
  const [row] = await em.execute(cappedCountText(sql, limit), [...params]);
  const found = Number((row as { n: number | string }).n);
  const { estimate } = dialect.sql;
  if (mode !== 'estimated' || !estimate || found <= limit) return countedTo(found, limit);
  const [result] = await em.execute(estimate.statement(sql), [...params]);
  return countedAbout(estimate.rowsIn(Object.values(result as object)[0]));
}

/** The keys of a plain query, in no order. */
export function keysOfAll(meta: EntityMetadata, query: AnyQueryBuilder): Statement {
  const keys = query.clone(['orderBy']).unsetFlag(QueryFlag.DISTINCT);
  return (keys.select(keyOf(meta).name as never) as AnyQueryBuilder).toQuery();
}

async function countKeys(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder): Promise<number> {
  if (isPlain(query)) return Number(await query.clone().getCount(keyOf(meta).name as never, false));
  const { sql, params } = shapedKeys(em, query, meta, []);
  const [row] = await em.execute(`select count(distinct row_key) as n from (${sql}) as selected`, [...params]);
  const { offset, limit } = windowOf(query);
  return Math.min(limit, Math.max(0, Number((row as { n: number | string }).n) - offset));
}

/** The keys of a window of a query, each once, in the query's own order or else that of `sort`, and at last by key. */
export async function keysOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
  backwards = false,
): Promise<unknown[]> {
  const key = keyOf(meta).name as string;
  if (isPlain(query)) {
    const keys = inTotalOrder(query.clone(), meta, sort, backwards);
    const page = keys
      .unsetFlag(QueryFlag.DISTINCT)
      .select(key as never)
      .limit(window.limit, window.offset) as AnyQueryBuilder;
    const rows: Record<string, unknown>[] = await page.execute('all');
    return rows.map((row) => row[key]);
  }
  const { sql, params } = windowed(shapedKeys(em, query, meta, sort), narrowed(windowOf(query), window));
  const rows = (await em.execute(sql, [...params])) as { row_key: unknown }[];
  const { customType } = keyOf(meta);
  const platform = em.getPlatform();
  return rows.map(({ row_key }) => (customType ? customType.convertToJSValue(row_key, platform) : row_key));
}

/** The statement of the keys that any query selects, each once. */
export function selectedKeys(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): Statement {
  const keys = shapedKeys(em, query, meta, sort);
  const window = windowOf(query);
  if (window.offset > 0 || window.limit < Number.POSITIVE_INFINITY) return windowed(keys, window);
  return { sql: `select row_key from (${keys.sql}) as placed`, params: keys.params };
}

/** The statement of all keys of a query, each once, in the order of {@link keysOf}. */
export function orderedKeys(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): Statement {
  if (!isPlain(query)) {
    const { offset, limit } = windowOf(query);
    const keys = shapedKeys(em, query, meta, sort);
    return offset === 0 && limit === Number.POSITIVE_INFINITY ? placed(keys) : windowed(keys, { offset, limit });
  }
  const keys = inTotalOrder(query.clone(), meta, sort).unsetFlag(QueryFlag.DISTINCT);
  return (keys.select(keyOf(meta).name as never) as AnyQueryBuilder).toQuery();
}

/** Whether a key is among those that a query selects. */
export async function hasKey(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  id: Identifier,
  sort: readonly SortKey[],
): Promise<boolean> {
  const { name, customType } = keyOf(meta);
  if (isPlain(query)) {
    const one = query
      .clone(['orderBy'])
      .unsetFlag(QueryFlag.DISTINCT)
      .andWhere({ [name]: id } as never)
      .select(name as never)
      .limit(1) as AnyQueryBuilder;
    return (await one.execute('all', false)).length > 0;
  }
  const { sql, params } = allKeys(em, query, meta, sort);
  const value = customType ? customType.convertToDatabaseValue(id, em.getPlatform(), { mode: 'query' }) : id;
  const rows = await em.execute(`select row_key from (${sql}) as selected where row_key = ? limit 1`, [...params, value]);
  return rows.length > 0;
}

/** Those of the keys that a query selects, as the mapper has them. */
export async function keysAmong(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  ids: readonly unknown[],
  sort: readonly SortKey[],
): Promise<unknown[]> {
  const { name, customType } = keyOf(meta);
  const key = name as string;
  if (isPlain(query)) {
    const some = query
      .clone(['orderBy'])
      .unsetFlag(QueryFlag.DISTINCT)
      .andWhere({ [key]: { $in: ids } } as never)
      .select(key as never) as AnyQueryBuilder;
    const rows: Record<string, unknown>[] = await some.execute('all');
    return rows.map((row) => row[key]);
  }
  const platform = em.getPlatform();
  const { sql, params } = allKeys(em, query, meta, sort);
  const values = ids.map((id) => (customType ? customType.convertToDatabaseValue(id, platform, { mode: 'query' }) : id));
  const among = `row_key in (${values.map(() => '?').join(', ')})`;
  const text = `select distinct row_key from (${sql}) as selected where ${among}`;
  const rows = (await em.execute(text, [...params, ...values])) as { row_key: unknown }[];
  return rows.map(({ row_key }) => (customType ? customType.convertToJSValue(row_key, platform) : row_key));
}

/** The keys of a query that is more than a plain one, within the window that it has itself. */
function allKeys(em: RequestEntityManager, query: AnyQueryBuilder, meta: EntityMetadata, sort: readonly SortKey[]): Statement {
  const window = windowOf(query);
  const keys = shapedKeys(em, query, meta, sort);
  return window.offset === 0 && window.limit === Number.POSITIVE_INFINITY ? keys : windowed(keys, window);
}

/**
 * The statement behind a query that joins, groups or limits: a row can come up more than once, and its order can depend on what was
 * joined. So every row is given its place, and a key takes the first of its places.
 */
function shapedKeys(em: RequestEntityManager, query: AnyQueryBuilder, meta: EntityMetadata, sort: readonly SortKey[]): Statement {
  const ordered = inTotalOrder(query.clone(['limit', 'offset']), meta, sort)
    .unsetFlag(QueryFlag.DISTINCT)
    .setFlag(QueryFlag.DISABLE_PAGINATE)
    .select(keyOf(meta).name as never) as AnyQueryBuilder;
  const order = orderText(ordered);
  const quote = (name: string) => em.getPlatform().quoteIdentifier(name).toString();
  const column = `${quote(query.mainAlias.aliasName)}.${quote(keyOf(meta).fieldNames[0] as string)}`;
  const body = (ordered.state.distinctOn ? ordered.clone() : ordered.clone(['orderBy'])) as AnyQueryBuilder;
  body.select([
    raw(`${column} as row_key`),
    raw(`row_number() over (order by ${order.sql}) as row_place`, [...order.params]),
  ] as never);
  return body.toQuery();
}

/** What stands after `order by`, which the mapper writes last. */
function orderText(ordered: AnyQueryBuilder): Statement {
  const whole = ordered.clone().toQuery();
  const bare = ordered.clone(['orderBy']).toQuery();
  return {
    sql: whole.sql.slice(bare.sql.length).replace(/^ order by /, ''),
    params: whole.params.slice(bare.params.length),
  };
}

function placed({ sql, params }: Statement): Statement {
  return { sql: `select row_key from (${sql}) as placed group by row_key order by min(row_place)`, params };
}

function windowed(keys: Statement, { offset, limit }: Window): Statement {
  const { sql, params } = placed(keys);
  return { sql: `${sql} limit ? offset ?`, params: [...params, Math.min(limit, Number.MAX_SAFE_INTEGER), offset] };
}

/** The window that the application itself set on its query. */
function windowOf({ state }: AnyQueryBuilder): Window {
  return { offset: state.offset ?? 0, limit: state.limit ?? Number.POSITIVE_INFINITY };
}

/** A window of what another window shows. */
function narrowed(outer: Window, inner: Window): Window {
  return { offset: outer.offset + inner.offset, limit: Math.max(0, Math.min(inner.limit, outer.limit - inner.offset)) };
}

/** The query in its own order or else that of `sort`, and at last by key. `backwards`: in the opposite of it. */
export function inTotalOrder(
  query: AnyQueryBuilder,
  meta: EntityMetadata,
  sort: readonly SortKey[],
  backwards = false,
): AnyQueryBuilder {
  const turned = backwards ? sort.map(({ property, direction }) => ({ property, direction: opposite(direction) })) : sort;
  if (query.state.orderBy.length === 0) for (const sortKey of turned) query.andOrderBy(orderOf(sortKey) as never);
  return query.andOrderBy(keyOrder(meta, backwards ? 'desc' : 'asc') as never) as AnyQueryBuilder;
}

function opposite(direction: SortKey['direction']): SortKey['direction'] {
  return direction === 'asc' ? 'desc' : 'asc';
}

/** `center.name` descending → `{ center: { name: 'desc' } }` */
export function orderOf({ property, direction }: SortKey): QueryOrderMap<object> {
  return property.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), direction) as QueryOrderMap<object>;
}

/** Ends every order: with it no two rows are equal. */
export function keyOrder(meta: EntityMetadata, direction: SortKey['direction'] = 'asc'): QueryOrderMap<object> {
  return { [keyOf(meta).name]: direction } as QueryOrderMap<object>;
}
