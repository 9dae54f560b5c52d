import type { EntityMetadata } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import type { RequestEntityManager } from '../database/mapper.ts';
import { keyOf } from '../model/identifier.ts';

// biome-ignore lint/suspicious/noExplicitAny: the builder of whatever model a declaration names
export type AnyQueryBuilder = QueryBuilder<any, any, any, any, any, any, any>;

/** Narrows a query for one request. What it returns, where it returns a query, takes the place of what it was given. */
export type Restrict = (query: AnyQueryBuilder) => unknown;

/** The alias of the model in every query that an application is handed. */
export const rootAlias = 'e';

/** A query on the model as the application restricts it, with the filters that the model switches on by default. */
export async function restrictedQuery(
  em: RequestEntityManager,
  meta: EntityMetadata,
  restrict: Restrict | null,
): Promise<AnyQueryBuilder> {
  const fresh = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  const returned = restrict ? await restrict(fresh) : fresh;
  const query = returned instanceof QueryBuilder ? (returned as AnyQueryBuilder) : fresh;
  await query.applyFilters();
  return selectsRows(query) ? query : within(em, meta, query);
}

/** Whether the query still is a plain selection of rows, which conditions, an order and a page can be added to. */
function selectsRows({ state, mainAlias }: AnyQueryBuilder): boolean {
  return (
    state.limit === undefined &&
    state.offset === undefined &&
    state.groupBy.length === 0 &&
    Object.keys(state.having ?? {}).length === 0 &&
    !state.unionQuery &&
    !state.distinctOn &&
    mainAlias.subQuery === undefined
  );
}

/** The rows of a query of any form, as a plain selection in the same order where that can be kept. */
function within(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder): AnyQueryBuilder {
  const key = keyOf(meta).name as string;
  const orderBy = query.state.orderBy;
  const outer = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  const inner = query.clone() as AnyQueryBuilder;
  outer.where({ [key]: { $in: inner.select(key as never).as('restricted') } } as never);
  if (orderBy.length > 0 && Object.keys(query.state.joins).length === 0) outer.orderBy(orderBy as never);
  return outer;
}

/** Whether the application joined anything: then a row can come up more than once. */
export function hasJoins(query: AnyQueryBuilder): boolean {
  return Object.keys(query.state.joins).length > 0;
}
