import { type EntityMetadata, QueryFlag } from '@mikro-orm/core';
import { keyOf } from '../../model/identifier.ts';
import { type AnyQueryBuilder, isPlain, rootAlias } from './restriction.ts';

/** A part of a query of the mapper's, with `?` for each parameter. */
export interface QueryText {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** The clauses of a query, as MikroORM's own builder keeps them before it joins them to a text. */
interface Clauses {
  readonly joins?: readonly QueryText[];
  readonly where?: { readonly sql: string; readonly params: readonly unknown[] };
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

const nothing: QueryText = Object.freeze({ sql: '', params: [] });

/** What was found out about queries, each of which is written out once. */
const conditions = new WeakMap<AnyQueryBuilder, QueryText | null>();

/**
 * The condition that a query is, empty if it selects every row; null if it is more than a condition on the model's own rows. The query
 * itself is finalized by this, and can only be copied afterwards.
 */
export function conditionOf(query: AnyQueryBuilder, meta: EntityMetadata): QueryText | null {
  let condition = conditions.get(query);
  if (condition === undefined) {
    condition = readCondition(query, meta);
    conditions.set(query, condition);
  }
  return condition;
}

function readCondition(query: AnyQueryBuilder, meta: EntityMetadata): QueryText | null {
  const { state } = query;
  const isMore = state.orderBy.length > 0 || state.lockMode !== undefined || state.finalized || state.unionQuery;
  const { aliasName, meta: selected } = query.mainAlias;
  if (isMore || !isPlain(query) || Object.keys(state.joins).length > 0) return null;
  if (aliasName !== rootAlias || selected?.class !== meta.class) return null;
  const keys = query.unsetFlag(QueryFlag.DISTINCT).select(keyOf(meta).name as never) as unknown as AnyQueryBuilder;
  const { ctes, joins, where } = clausesOf(keys);
  // conditions on associations become joins only when the query is written
  if ((joins?.length ?? 0) > 0 || (ctes?.length ?? 0) > 0) return null;
  return where && where.sql !== '' ? { sql: `(${where.sql})`, params: where.params } : nothing;
}
