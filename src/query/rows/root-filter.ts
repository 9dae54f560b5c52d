import type { EntityMetadata, FilterDef } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { ApiDeclaration } from '../../declaration/types.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { asRow, keyColumnsOf, keyNames } from '../../model/key-condition.ts';
import { conditionOf } from '../entities/condition-query.ts';
import { isFiltered, isFixedCondition } from '../entities/filters.ts';
import { type AnyQueryBuilder, isPlain, rootAlias } from '../entities/restriction.ts';

/** How compiled reads apply the filters that a model switches on by default. */
export type RootFilter =
  /** Conditions in SQL that are the same for every request. */
  | { readonly kind: 'fixed'; readonly conditions: readonly string[] }
  /** Conditions that the application creates for each request. */
  | { readonly kind: 'per request' }
  /** Conditions that only a read through MikroORM can apply. */
  | { readonly kind: 'entities'; readonly reason: string };

export const noFilter: RootFilter = Object.freeze({ kind: 'fixed', conditions: Object.freeze([]) });

/** The filters of the models of APIs. */
export async function rootFiltersOf(
  mapper: Mapper,
  apis: readonly Pick<ApiDeclaration, 'class'>[],
): Promise<ReadonlyMap<EntityMetadata, RootFilter>> {
  const filters = new Map<EntityMetadata, RootFilter>();
  for (const { class: model } of apis) {
    const meta = metaOf(mapper, model.value);
    if (!filters.has(meta)) filters.set(meta, await rootFilterOf(mapper, meta));
  }
  return filters;
}

/** Analyzes the filters of a model. If they are fixed, MikroORM writes their SQL at startup. */
export async function rootFilterOf(mapper: Mapper, meta: EntityMetadata): Promise<RootFilter> {
  if (!isFiltered(meta)) return noFilter;
  const filters = Object.values(meta.filters ?? {}).filter((filter) => filter.default) as FilterDef[];
  if (filters.some((filter) => filter.rls || (typeof filter.cond === 'function' && filter.cond.length > 3)))
    return { kind: 'entities', reason: `${meta.className} has a filter that looks at how rows are loaded` };
  if (!filters.every(({ cond }) => isFixedCondition(cond))) return { kind: 'per request' };
  const em = mapper.em.fork() as RequestEntityManager;
  const query = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  await query.applyFilters();
  if (!isPlain(query) || joinsFiltered(query))
    return { kind: 'entities', reason: `${meta.className} has a filter on more than its own row` };
  const platform = mapper.driver.getPlatform();
  const own = conditionOf(query.clone() as AnyQueryBuilder, meta);
  // SQL of the application may name columns without their table, and joined tables can have columns of the same name
  if (own?.isOfRowAlone) return { kind: 'fixed', conditions: own.sql === '' ? [] : [platform.formatQuery(own.sql, own.params)] };
  // if the query joins other tables, the condition is that it selects the key
  const { sql, params } = (query.select(keyNames(meta)) as unknown as AnyQueryBuilder).toQuery();
  const key = asRow(keyColumnsOf(meta, platform, platform.quoteIdentifier(rootAlias).toString()));
  return { kind: 'fixed', conditions: [`${key} in (${platform.formatQuery(sql, params)})`] };
}

/** Whether a query joins a model with its own filter, which MikroORM would also apply when it loads the rows. */
export function joinsFiltered({ state }: AnyQueryBuilder): boolean {
  return Object.values(state.joins).some(({ prop }) => prop.targetMeta && isFiltered(prop.targetMeta as EntityMetadata));
}
