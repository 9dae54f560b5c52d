import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { isPromiseLike } from '../../database/promise-like.ts';
import { keyParts } from '../../model/identifier.ts';
import { isSelected } from '../../model/key-condition.ts';
import { type AnyQueryBuilder, builtQuery, deferredQuery, deferredShape, rootAlias } from './deferred-query.ts';
import { isFiltered, isToOne } from './filters.ts';

export { type AnyQueryBuilder, rootAlias };

/** Narrows a query for one request. If it returns a query, that one replaces the query that it was called with. */
export type Restrict = (query: AnyQueryBuilder) => unknown;

/** A query on the model as the application restricts it, with the filters that the model switches on by default. */
export async function restrictedQuery(
  em: () => RequestEntityManager,
  meta: EntityMetadata,
  restrict: Restrict,
): Promise<AnyQueryBuilder> {
  const fresh = deferredQuery(meta, (alias) => em().createQueryBuilder(meta.class, alias) as AnyQueryBuilder);
  const result = restrict(fresh);
  const returned = isPromiseLike(result) ? await result : result;
  // a query that the application has made itself, or has sent already, must not be changed
  const isOwn = returned instanceof QueryBuilder && returned !== fresh;
  const isDeferred = deferredShape(fresh) !== null;
  if (isOwn || (!isDeferred && (fresh.state.finalized || fresh.state.unionQuery)))
    return filteredQuery(em(), meta, isOwn ? (returned as AnyQueryBuilder) : builtQuery(fresh));
  if (isFiltered(meta)) {
    const condition = await em().applyFilters(meta.class, {}, {}, 'read');
    if (isCondition(condition)) fresh.andWhere(condition as never);
  }
  const query = hidingReferences(meta).length > 0 ? await withoutHidden(em, meta, fresh) : fresh;
  return deferredShape(query) ? query : builtQuery(query);
}

/** A query on the model, restricted only by the filters that the model switches on by default. */
export function unrestrictedQuery(em: RequestEntityManager, meta: EntityMetadata): Promise<AnyQueryBuilder> {
  return restrictedQuery(
    () => em,
    meta,
    () => undefined,
  );
}

/** The same query with the filters that are on by default: MikroORM itself would apply them when it loads the rows. */
export async function filteredQuery(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
): Promise<AnyQueryBuilder> {
  const filtered = query.state.unionQuery ? unionQuery(em, meta, query) : (query.clone() as AnyQueryBuilder);
  await filtered.applyFilters();
  return withoutHidden(() => em, meta, filtered);
}

/** Excludes rows for which a filter hides a required association: MikroORM does not load them. */
async function withoutHidden(
  em: () => RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
): Promise<AnyQueryBuilder> {
  for (const { filters, name, targetMeta } of hidingReferences(meta)) {
    const condition = await em().applyFilters((targetMeta as EntityMetadata).class, {}, filters ?? {}, 'read');
    if (isCondition(condition)) query.andWhere({ [name]: condition } as never);
  }
  return query;
}

const hiding = new WeakMap<EntityMetadata, readonly EntityProperty[]>();

/** The required references whose filters can hide the row itself. */
function hidingReferences(meta: EntityMetadata): readonly EntityProperty[] {
  let references = hiding.get(meta);
  if (!references) {
    references = (meta.relations as EntityProperty[]).filter(
      ({ filters, kind, nullable, owner, targetMeta }) =>
        isToOne({ kind }) && owner && !nullable && targetMeta && (filters || isFiltered(targetMeta)),
    );
    hiding.set(meta, references);
  }
  return references;
}

function isCondition(condition: object | undefined): boolean {
  return condition !== undefined && Reflect.ownKeys(condition).length > 0;
}

/** A union takes no further conditions, so its keys become a condition of another query. */
function unionQuery(em: RequestEntityManager, meta: EntityMetadata, query: AnyQueryBuilder): AnyQueryBuilder {
  const { sql, params } = query.toQuery();
  const platform = em.getPlatform();
  const columns = keyParts(meta).map(({ column }) => platform.quoteIdentifier(column));
  const outer = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  const keys = { sql: `select ${columns.join(', ')} from (${sql}) as united`, params };
  return outer.where(isSelected(meta, platform, keys) as never);
}

/** Whether the selection of a row depends on other rows, so that a further condition would let other rows through. */
export function choosesRows({ state }: AnyQueryBuilder): boolean {
  return (
    state.limit !== undefined ||
    state.offset !== undefined ||
    state.groupBy.length > 0 ||
    Object.keys(state.having ?? {}).length > 0 ||
    state.distinctOn !== undefined
  );
}

/** Whether the query selects each row once, so that conditions, an order and a page can simply be added to it. */
export function isPlain(query: AnyQueryBuilder): boolean {
  const { mainAlias, state } = query;
  if (choosesRows(query) || mainAlias.subQuery !== undefined) return false;
  return Object.values(state.joins).every(({ prop, subquery }) => subquery === undefined && isToOne(prop));
}
