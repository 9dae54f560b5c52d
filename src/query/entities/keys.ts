import { type EntityMetadata, QueryFlag, type QueryOrderMap, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { dialectOn } from '../../dialect/dialect.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import type { Counted } from '../../response/collection.ts';
import { cappedCountText, countedAbout, countedFrom, countedTo, countLimit } from '../rows/count.ts';
import type { Window } from '../rows/window.ts';
import { clausesOf } from './condition-query.ts';
import { type AnyQueryBuilder, isPlain } from './restriction.ts';

export interface Statement {
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
  if (isPlain(query)) {
    const counting = query.clone(['orderBy']).count(keyOf(meta).name as never, false) as unknown as AnyQueryBuilder;
    const { sql, params } = counting.toQuery();
    const [row] = await em.execute(sql, [...params]);
    return Number(Object.values(row as object)[0]);
  }
  const { sql, params } = countedKeys(em, meta, query);
  const [row] = await em.execute(sql, [...params]);
  return Number((row as { n: number | string }).n);
}

/** The statement that counts the keys of a query that joins, groups or limits. */
export function countedKeys(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder): Statement {
  const { sql, params } = allKeys(em, query, meta, []);
  return { sql: `select count(distinct row_key) as n from (${sql}) as selected`, params };
}

/** The statement of the keys in a window of such a query, each once. */
export function windowedKeys(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  window: Window,
  sort: readonly SortKey[],
): Statement {
  return windowed(shapedKeys(em, query, meta, sort), narrowed(windowOf(query), window));
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
  if (isPlain(query)) {
    const keys = inTotalOrder(query.clone(), meta, sort, backwards);
    const page = keys
      .unsetFlag(QueryFlag.DISTINCT)
      .select(keyOf(meta).name as never)
      .limit(window.limit, window.offset) as AnyQueryBuilder;
    return sentKeys(em, meta, page.toQuery());
  }
  return sentKeys(em, meta, windowedKeys(em, meta, query, window, sort));
}

/** The keys that a statement selects in its only column, as the mapper has them; in the transaction of the entity manager, if it is in one. */
async function sentKeys(em: RequestEntityManager, meta: EntityMetadata, { sql, params }: Statement): Promise<unknown[]> {
  const rows = (await em.execute(sql, [...params])) as object[];
  return rows.map(keyReader(em, meta));
}

/** Reads the key in the first column of a row, as the mapper has it. */
export function keyReader(em: RequestEntityManager, meta: EntityMetadata): (row: object) => unknown {
  const { customType } = keyOf(meta);
  const platform = em.getPlatform();
  return (row) => {
    const [value] = Object.values(row);
    return customType ? customType.convertToJSValue(value, platform) : value;
  };
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

/** The keys that any query selects, to be put after `in`. */
export function keysSelected(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): Statement {
  return isPlain(query) ? keysOfAll(meta, query) : selectedKeys(em, meta, query, sort);
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

/** The statement that selects a key if any query selects it. */
export function soughtKey(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  id: Identifier,
  sort: readonly SortKey[],
): Statement {
  const { name, customType } = keyOf(meta);
  if (isPlain(query)) {
    const one = query
      .clone(['orderBy'])
      .unsetFlag(QueryFlag.DISTINCT)
      .andWhere({ [name]: id } as never)
      .select(name as never)
      .limit(1) as AnyQueryBuilder;
    return one.toQuery();
  }
  const { sql, params } = allKeys(em, query, meta, sort);
  const value = customType ? customType.convertToDatabaseValue(id, em.getPlatform(), { mode: 'query' }) : id;
  return { sql: `select row_key from (${sql}) as selected where row_key = ? limit 1`, params: [...params, value] };
}

/** Whether a key is among those that a query selects. */
export async function hasKey(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  id: Identifier,
  sort: readonly SortKey[],
): Promise<boolean> {
  return (await sentKeys(em, meta, soughtKey(em, meta, query, id, sort))).length > 0;
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
    return sentKeys(em, meta, some.toQuery());
  }
  const platform = em.getPlatform();
  const { sql, params } = allKeys(em, query, meta, sort);
  const values = ids.map((id) => (customType ? customType.convertToDatabaseValue(id, platform, { mode: 'query' }) : id));
  const among = `row_key in (${values.map(() => '?').join(', ')})`;
  const text = `select distinct row_key from (${sql}) as selected where ${among}`;
  return sentKeys(em, meta, { sql: text, params: [...params, ...values] });
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
  body.select([raw(`${column} as row_key`), raw(`row_number() over (order by ${order}) as row_place`)] as never);
  return body.toQuery();
}

/** What stands after `order by`. */
function orderText(ordered: AnyQueryBuilder): string {
  return clausesOf(ordered.clone() as AnyQueryBuilder).orderBy ?? '';
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
