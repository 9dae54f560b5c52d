import { type EntityMetadata, type EntityProperty, QueryFlag } from '@mikro-orm/core';
import { LruCache } from '../../database/lru-cache.ts';
import { keyOf } from '../../model/identifier.ts';
import { noText, type QueryText } from '../rows/bound-statement.ts';
import { builtQuery, deferredShape, type Shape } from './deferred-query.ts';
import { isToOne } from './filters.ts';
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

/** The clauses of a query that selects keys. The query itself is finalized by this, and can only be copied afterwards. */
export function clausesOf(query: AnyQueryBuilder): Clauses {
  const native = query.getNativeQuery() as unknown as { readonly options: Clauses };
  return native.options;
}

/** A condition on the rows of a model. */
interface RowCondition extends QueryText {
  /** Whether it looks at nothing but the columns of a row itself. */
  readonly isOfRowAlone: boolean;
}

/** What was found out about a query stays with it, as it is written out once. */
const found = Symbol('condition');

/**
 * The condition that a query is, empty if it selects every row; null if it is more than a condition on the model's own rows. The query
 * itself is finalized by this, and can only be copied afterwards.
 */
export function conditionOf(query: AnyQueryBuilder, meta: EntityMetadata): RowCondition | null {
  const shape = deferredShape(query);
  return shape ? shapedCondition(meta, shape, () => foundCondition(query, meta)) : foundCondition(query, meta);
}

function foundCondition(query: AnyQueryBuilder, meta: EntityMetadata): RowCondition | null {
  const builder = builtQuery(query) as AnyQueryBuilder & { [found]?: RowCondition | null };
  if (builder[found] === undefined) Object.defineProperty(builder, found, { value: builtCondition(builder, meta) });
  return builder[found] ?? null;
}

/** Texts that are kept for each model, by the shape of the condition. */
const keptShapes = 100;

/** What is known of conditions of one shape. */
interface ShapeText {
  known: Pick<RowCondition, 'sql' | 'isOfRowAlone'> | null;
}

const texts = new WeakMap<EntityMetadata, LruCache<ShapeText>>();

function builtCondition(query: AnyQueryBuilder, meta: EntityMetadata): RowCondition | null {
  const { state } = query;
  const isMore = state.orderBy.length > 0 || state.lockMode !== undefined || state.finalized || state.unionQuery;
  const { aliasName, meta: selected } = query.mainAlias;
  if (isMore || !isPlain(query) || Object.keys(state.joins).length > 0) return null;
  if (aliasName !== rootAlias || selected?.class !== meta.class) return null;
  const shape = shapeOf(query);
  const isOfRowAlone = shape !== null && meta.props.every(({ formula }) => !formula);
  const written = () => writtenCondition(query, meta, isOfRowAlone);
  return shape ? shapedCondition(meta, shape, written) : written();
}

/** The condition of a shape, whose text is known if it was written before. */
function shapedCondition(meta: EntityMetadata, shape: Shape, write: () => RowCondition | null): RowCondition | null {
  const shapes = texts.get(meta) ?? new LruCache<ShapeText>(keptShapes);
  texts.set(meta, shapes);
  const text = shapes.get(shape.key, () => ({ known: null }));
  if (text.known) return { ...text.known, params: shape.values };
  const condition = write();
  if (condition && isOrderOf(shape.values, condition.params)) text.known = condition;
  return condition;
}

/** The condition as MikroORM writes it, which takes longer than all the rest of a request for one row. */
function writtenCondition(query: AnyQueryBuilder, meta: EntityMetadata, isOfRowAlone: boolean): RowCondition | null {
  const keys = query.unsetFlag(QueryFlag.DISTINCT).select(keyOf(meta).name as never) as unknown as AnyQueryBuilder;
  const { ctes, joins, where } = clausesOf(keys);
  // conditions on associations become joins only when the query is written
  if ((joins?.length ?? 0) > 0 || (ctes?.length ?? 0) > 0) return null;
  const text = where && where.sql !== '' ? { sql: `(${where.sql})`, params: where.params } : noText;
  return { ...text, isOfRowAlone };
}

/** For each model, what finds its columns without an alias; null if a statement that reads its rows joins nothing. */
const bareColumns = new WeakMap<EntityMetadata, RegExp | null>();

/** Whether SQL of the application may name a column without its table, which another table that is joined can have as well. */
export function hasBareColumn(sql: string, meta: EntityMetadata): boolean {
  let bare = bareColumns.get(meta);
  if (bare === undefined) {
    const names = meta.props.flatMap(({ fieldNames }) => fieldNames ?? []).map((name) => name.replace(/[^\w]/g, '\\$&'));
    const any = `(?:${names.join('|')})`;
    const joins = (meta.relations as EntityProperty[]).some((property) => isToOne(property));
    bare = joins ? new RegExp(`(?<![\\w."\`])${any}(?!\\w)|(?<!\\.)["\`]${any}["\`](?!\\.)`, 'i') : null;
    bareColumns.set(meta, bare);
  }
  return bare?.test(sql) ?? false;
}

/** Null if more than keys and simple values takes part. */
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
  if (Array.isArray(value)) return joined(value.map((item) => shapeWithin(item, values)));
  if (typeof value !== 'object') {
    values.push(value);
    return typeof value;
  }
  // raw fragments are symbols
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.getOwnPropertySymbols(value).length > 0) return null;
  return joined(
    Object.entries(value).map(([name, part]) => {
      const shape = shapeWithin(part, values);
      return shape && `${JSON.stringify(name)}:${shape}`;
    }),
  );
}

function joined(parts: readonly (string | null)[]): string | null {
  return parts.includes(null) ? null : `{${parts.join()}}`;
}

/** Whether the values became the parameters one by one. If two of them are equal, that cannot be told. */
function isOrderOf(values: readonly unknown[], params: readonly unknown[]): boolean {
  return (
    values.length === params.length &&
    values.every((value, i) => Object.is(value, params[i])) &&
    new Set(values).size === values.length
  );
}
