import { type EntityMetadata, QueryFlag } from '@mikro-orm/core';
import { LruCache } from '../../database/lru-cache.ts';
import { keyNames } from '../../model/key-condition.ts';
import { noText, type QueryText } from '../rows/bound-statement.ts';
import { builtQuery, builtUnder, deferredShape, type Shape } from './deferred-query.ts';
import { type AnyQueryBuilder, isPlain, rootAlias } from './restriction.ts';

/** The clauses of a query, as MikroORM's own builder keeps them before it joins them to a text. */
interface Clauses {
  readonly joins?: readonly QueryText[];
  readonly where?: QueryText;
  readonly having?: unknown;
  readonly groupBy?: unknown;
  readonly orderBy?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly ctes?: readonly unknown[];
  readonly distinct?: boolean;
  readonly distinctOn?: unknown;
}

/** The clauses of a query that selects keys. This finalizes the query, which can only be cloned afterwards. */
export function clausesOf(query: AnyQueryBuilder): Clauses {
  const native = query.getNativeQuery() as unknown as { readonly options: Clauses };
  return native.options;
}

/** A condition on the rows of a model. */
interface RowCondition extends QueryText {
  /** Whether it uses only columns of the row itself. */
  readonly isOfRowAlone: boolean;
  /** The SQL between the parameters, if it is known from an earlier request. */
  readonly pieces?: readonly string[] | undefined;
}

/** Caches the condition on its query, which can be written only once. */
const cacheKey = Symbol('condition');

/**
 * The condition of a query, empty if it selects every row; null if the query is more than a condition on the model's own rows.
 * If the query is built already, this finalizes it, so that it can only be cloned afterwards.
 */
export function conditionOf(query: AnyQueryBuilder, meta: EntityMetadata): RowCondition | null {
  return conditionUnder(query, meta, rootAlias) ?? cachedOn(builtQuery(query), meta, rootAlias);
}

/**
 * The same under another alias, if the query was not built, and without building it; null otherwise. Such a query only compares
 * columns of its model, so only the alias differs.
 */
export function conditionUnder(query: AnyQueryBuilder, meta: EntityMetadata, alias: string): RowCondition | null {
  const shape = deferredShape(query);
  if (!shape) return null;
  return shapedCondition(meta, shape, alias, () => {
    const builder = builtUnder(query, alias);
    return builder && cachedOn(builder, meta, alias);
  });
}

function cachedOn(
  builder: AnyQueryBuilder & { [cacheKey]?: RowCondition | null },
  meta: EntityMetadata,
  alias: string,
): RowCondition | null {
  if (builder[cacheKey] === undefined) Object.defineProperty(builder, cacheKey, { value: builtCondition(builder, meta, alias) });
  return builder[cacheKey] ?? null;
}

/** Maximum of cached texts for each model, one for each shape of a condition. */
const maxCachedShapes = 100;

/** The part that conditions of one shape share, once it is known. */
interface ShapeText {
  known: Omit<RowCondition, 'params'> | null;
  /** Whether the parameters are not just the values, so that the text has to be written for each request. */
  isWrittenAnew: boolean;
}

const texts = new WeakMap<EntityMetadata, LruCache<ShapeText>>();

/** The number of known texts so far, which is the key of the next one. */
let known = 0;

function builtCondition(query: AnyQueryBuilder, meta: EntityMetadata, alias: string): RowCondition | null {
  const { state } = query;
  const isMore = state.orderBy.length > 0 || state.lockMode !== undefined || state.finalized || state.unionQuery;
  const { aliasName, meta: selected } = query.mainAlias;
  if (isMore || !isPlain(query) || Object.keys(state.joins).length > 0) return null;
  if (aliasName !== alias || selected?.class !== meta.class) return null;
  const shape = shapeOf(query);
  const isOfRowAlone = shape !== null && meta.props.every(({ formula }) => !formula);
  const written = () => writtenCondition(query, meta, isOfRowAlone);
  return shape ? shapedCondition(meta, shape, alias, written) : written();
}

/** The condition of a shape, whose text is known if it was written before. */
function shapedCondition(
  meta: EntityMetadata,
  shape: Shape,
  alias: string,
  write: () => RowCondition | null,
): RowCondition | null {
  const shapes = texts.get(meta) ?? new LruCache<ShapeText>(maxCachedShapes);
  texts.set(meta, shapes);
  const text = shapes.get(`${alias}${shape.key}`, () => ({ known: null, isWrittenAnew: false }));
  if (text.known) return knownCondition(text.known, shape);
  // one writing for each request is enough
  if (text.isWrittenAnew && alias !== rootAlias) return null;
  const condition = write();
  if (!condition) return null;
  text.isWrittenAnew = !areEqual(shape.values, condition.params);
  if (text.isWrittenAnew || !haveOneOrder(shape.values)) return condition;
  const { isOfRowAlone, sql } = condition;
  text.known = { sql, isOfRowAlone, key: sql === '' ? '' : `#${known++}`, pieces: sql.split('?') };
  // from the first request on, so that the requests before and after have the same statements
  return knownCondition(text.known, shape);
}

function knownCondition({ isOfRowAlone, key, pieces, sql }: Omit<RowCondition, 'params'>, { values }: Shape): RowCondition {
  return { sql, params: values, isOfRowAlone, key, pieces };
}

/** The condition as MikroORM writes it, which takes longer than all the rest of a request for one row. */
function writtenCondition(query: AnyQueryBuilder, meta: EntityMetadata, isOfRowAlone: boolean): RowCondition | null {
  const keys = query.unsetFlag(QueryFlag.DISTINCT).select(keyNames(meta)) as unknown as AnyQueryBuilder;
  const { ctes, joins, where } = clausesOf(keys);
  // conditions on associations become joins only when the query is written
  if ((joins?.length ?? 0) > 0 || (ctes?.length ?? 0) > 0) return null;
  const text = where && where.sql !== '' ? { sql: `(${where.sql})`, params: where.params } : noText;
  return { ...text, isOfRowAlone };
}

/** The shape of a condition; null if it has more than names and simple values. */
function shapeOf({ state }: AnyQueryBuilder): Shape | null {
  const { cond, ctes, flags, partitionLimit, populate, schema, subQueries } = state;
  const isChanged = flags.size !== 1 || !flags.has(QueryFlag.CONVERT_CUSTOM_TYPES) || schema !== undefined || partitionLimit;
  if (isChanged || populate.length > 0 || ctes.length > 0 || Object.keys(subQueries).length > 0) return null;
  const values: unknown[] = [];
  const key = shapeWithin(cond, values);
  return key === null ? null : { key, values };
}

function shapeWithin(value: unknown, values: unknown[]): string | null {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return joined(
      '[',
      value.map((item) => shapeWithin(item, values)),
    );
  if (typeof value !== 'object') {
    values.push(value);
    return typeof value;
  }
  // raw fragments have symbols as keys
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.getOwnPropertySymbols(value).length > 0) return null;
  const parts = Object.entries(value).map(([name, part]) => {
    const shape = shapeWithin(part, values);
    return shape && `${JSON.stringify(name)}:${shape}`;
  });
  return joined('{', parts);
}

/** An empty list selects other rows than an empty object. */
function joined(bracket: '[' | '{', parts: readonly (string | null)[]): string | null {
  return parts.includes(null) ? null : `${bracket}${parts.join()}}`;
}

function areEqual(values: readonly unknown[], params: readonly unknown[]): boolean {
  return values.length === params.length && values.every((value, i) => Object.is(value, params[i]));
}

/** Whether values can have become parameters in one order only. Equal values could have changed places. */
function haveOneOrder(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}
