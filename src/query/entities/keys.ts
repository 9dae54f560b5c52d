import { type EntityMetadata, QueryFlag, type QueryOrderMap, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { dialectOn } from '../../dialect/dialect.ts';
import { keyFrom } from '../../model/composite-key.ts';
import { type Identifier, isComposite, keyOf, keyParts } from '../../model/identifier.ts';
import { amongAny, hasOneOf, keyColumnsOf, keyNames } from '../../model/key-condition.ts';
import type { Counted } from '../../response/collection.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import { type CountSource, countRows } from '../rows/count.ts';
import type { Window } from '../rows/seek/seek-plan.ts';
import { clausesOf } from './condition-query.ts';
import { type AnyQueryBuilder, isPlain } from './restriction.ts';

/** Counts the rows of the model that a query selects, as far as `mode` requires. */
export function countOf(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  mode: CountMode,
): Promise<Counted> {
  return countBy(em, countSource(em, meta, query, mode), mode);
}

/** Counts by statements that the entity manager sends. */
export function countBy(em: RequestEntityManager, source: CountSource, mode: CountMode): Promise<Counted> {
  return countRows(source, mode, dialectOn(em.getPlatform()), async ({ params, sql }) => {
    const [row] = await em.execute(sql, [...params]);
    return Object.values(row as object)[0];
  });
}

/** The statements that count the rows of a query. If it joins, groups or limits, only its distinct keys can be counted. */
export function countSource(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  mode: CountMode,
): CountSource {
  if (!isPlain(query)) {
    const { sql, params } = shapedKeys(em, meta, query, []);
    return { all: { sql: countDistinct(meta, sql), params }, rows: null };
  }
  return { all: countPlain(meta, query), rows: mode === 'exact' ? null : plainKeys(meta, query.clone(['orderBy'])).toQuery() };
}

function countDistinct(meta: EntityMetadata, sql: string): string {
  const keys = rowKeys(meta).join(', ');
  if (!isComposite(meta)) return `select count(distinct ${keys}) as n from (${sql}) as selected`;
  return `select count(*) as n from (select distinct ${keys} from (${sql}) as selected) as counted`;
}

function countPlain(meta: EntityMetadata, query: AnyQueryBuilder): QueryText {
  if (!isComposite(meta))
    return (query.clone(['orderBy']).count(keyOf(meta).name as never, false) as unknown as AnyQueryBuilder).toQuery();
  const { sql, params } = plainKeys(meta, query.clone(['orderBy'])).toQuery();
  return { sql: `select count(*) as n from (${sql}) as selected`, params };
}

/** The names of the key columns in statements of {@link placedKeys}. */
function rowKeys(meta: EntityMetadata): string[] {
  return isComposite(meta) ? keyParts(meta).map((_, i) => `row_key${i}`) : ['row_key'];
}

/**
 * Sends a statement that selects keys, in the transaction of the entity manager if it is in one. Returns the keys as MikroORM has
 * them.
 */
export async function sentKeys(em: RequestEntityManager, meta: EntityMetadata, { sql, params }: QueryText): Promise<unknown[]> {
  const rows = (await em.execute(sql, [...params])) as object[];
  return rows.map(keyReader(em, meta));
}

/** Reads the key in the first columns of a row, as MikroORM has it. */
export function keyReader(em: RequestEntityManager, meta: EntityMetadata): (row: object) => unknown {
  const parts = keyParts(meta);
  const platform = em.getPlatform();
  return (row) => {
    const values = Object.values(row);
    return keyFrom(
      parts.map(({ leaf: { customType } }, i) => (customType ? customType.convertToJSValue(values[i], platform) : values[i])),
    );
  };
}

/** The statement of the keys that any query selects, each once, to be put after `in`. */
export function keysSelected(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): QueryText {
  return isPlain(query) ? plainKeys(meta, query.clone(['orderBy'])).toQuery() : shapedKeys(em, meta, query, sort);
}

/**
 * The statement of the keys of any query, or of a window of them, each once. They are in the query's own order or else that of
 * `sort`, and finally by key.
 */
export function orderedKeys(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
  window: Window = everything,
  backwards = false,
): QueryText {
  if (!isPlain(query)) return placed(meta, placedKeys(em, meta, query, sort), narrowed(windowOf(query), window));
  const keys = plainKeys(meta, inTotalOrder(query.clone(), meta, sort, backwards));
  return (window === everything ? keys : (keys.limit(window.limit, window.offset) as AnyQueryBuilder)).toQuery();
}

/** The statement of those `ids` that any query selects. */
export function keysAmong(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  ids: readonly unknown[],
  sort: readonly SortKey[],
): QueryText {
  const platform = em.getPlatform();
  if (isPlain(query)) return plainKeys(meta, query.clone(['orderBy']).andWhere(hasOneOf(meta, platform, ids) as never)).toQuery();
  const { sql, params } = shapedKeys(em, meta, query, sort);
  const keys = rowKeys(meta);
  const among = amongAny(meta, platform, keys, ids);
  return {
    sql: `select distinct ${keys.join(', ')} from (${sql}) as selected where ${among.sql}`,
    params: [...params, ...among.params],
  };
}

/** Whether a key is among those that a query selects. */
export async function hasKey(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  id: Identifier,
  sort: readonly SortKey[],
): Promise<boolean> {
  return (await sentKeys(em, meta, keysAmong(em, meta, query, [id], sort))).length > 0;
}

/** A plain query that selects keys. */
function plainKeys(meta: EntityMetadata, query: AnyQueryBuilder): AnyQueryBuilder {
  return query.unsetFlag(QueryFlag.DISTINCT).select(keyNames(meta)) as AnyQueryBuilder;
}

/** The unordered keys of a query that joins, groups or limits. They can repeat, unless the query has a window. */
function shapedKeys(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder, sort: readonly SortKey[]): QueryText {
  const keys = placedKeys(em, meta, query, sort);
  const window = windowOf(query);
  if (isLimited(window)) return placed(meta, keys, window);
  return { sql: `select ${rowKeys(meta).join(', ')} from (${keys.sql}) as placed`, params: keys.params };
}

/**
 * The statement behind a query that joins, groups or limits. A row can occur more than once, and its order can depend on joined
 * rows. So every row gets its place in the order, and a key takes the first of its places.
 */
function placedKeys(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder, sort: readonly SortKey[]): QueryText {
  const ordered = inTotalOrder(query.clone(['limit', 'offset']), meta, sort)
    .unsetFlag(QueryFlag.DISTINCT)
    .setFlag(QueryFlag.DISABLE_PAGINATE)
    .select(keyNames(meta)) as AnyQueryBuilder;
  const order = clausesOf(ordered.clone() as AnyQueryBuilder).orderBy ?? '';
  const platform = em.getPlatform();
  const names = rowKeys(meta);
  const columns = keyColumnsOf(meta, platform, platform.quoteIdentifier(query.mainAlias.aliasName).toString());
  const keys = columns.map((column, i) => raw(`${column} as ${names[i]}`));
  const body = (ordered.state.distinctOn ? ordered.clone() : ordered.clone(['orderBy'])) as AnyQueryBuilder;
  body.select([...keys, raw(`row_number() over (order by ${order}) as row_place`)] as never);
  return body.toQuery();
}

/** A window of the keys that {@link placedKeys} selects. */
function placed(meta: EntityMetadata, { sql, params }: QueryText, window: Window): QueryText {
  const names = rowKeys(meta).join(', ');
  const keys = `select ${names} from (${sql}) as placed group by ${names} order by min(row_place)`;
  if (!isLimited(window)) return { sql: keys, params };
  return { sql: `${keys} limit ? offset ?`, params: [...params, Math.min(window.limit, Number.MAX_SAFE_INTEGER), window.offset] };
}

const everything: Window = Object.freeze({ offset: 0, limit: Number.POSITIVE_INFINITY });

function isLimited({ limit, offset }: Window): boolean {
  return offset > 0 || limit < Number.POSITIVE_INFINITY;
}

/** The window that the application itself set on its query. */
function windowOf({ state }: AnyQueryBuilder): Window {
  return { offset: state.offset ?? 0, limit: state.limit ?? Number.POSITIVE_INFINITY };
}

/** A window within another window. */
function narrowed(outer: Window, inner: Window): Window {
  return { offset: outer.offset + inner.offset, limit: Math.max(0, Math.min(inner.limit, outer.limit - inner.offset)) };
}

/** The query in its own order or else that of `sort`, and finally by key. `backwards`: in the opposite direction. */
function inTotalOrder(
  query: AnyQueryBuilder,
  meta: EntityMetadata,
  sort: readonly SortKey[],
  backwards = false,
): AnyQueryBuilder {
  const sortKeys = backwards ? sort.map(({ property, direction }) => ({ property, direction: opposite(direction) })) : sort;
  if (query.state.orderBy.length === 0) for (const sortKey of sortKeys) query.andOrderBy(orderOf(sortKey) as never);
  return query.andOrderBy(keyOrder(meta, backwards ? 'desc' : 'asc') as never) as AnyQueryBuilder;
}

function opposite(direction: SortKey['direction']): SortKey['direction'] {
  return direction === 'asc' ? 'desc' : 'asc';
}

/** `center.name` descending → `{ center: { name: 'desc' } }` */
export function orderOf({ property, direction }: SortKey): QueryOrderMap<object> {
  return property.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), direction) as QueryOrderMap<object>;
}

/** The end of every order, which makes it total. */
export function keyOrder(meta: EntityMetadata, direction: SortKey['direction'] = 'asc'): QueryOrderMap<object> {
  return Object.fromEntries(meta.primaryKeys.map((name) => [name, direction])) as QueryOrderMap<object>;
}
