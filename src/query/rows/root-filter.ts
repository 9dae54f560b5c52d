import type { EntityMetadata, FilterDef } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { ApiDeclaration } from '../../declaration/types.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { keyOf } from '../../model/identifier.ts';
import { conditionOf } from '../entities/condition-query.ts';
import { isFiltered, isFixedCondition } from '../entities/filters.ts';
import { type AnyQueryBuilder, isPlain, rootAlias } from '../entities/restriction.ts';

/** What the filters that a model switches on by default mean for the compiled reads of its rows. */
export type RootFilter =
  /** Conditions that are the same for every request, as they stand in SQL. */
  | { readonly kind: 'fixed'; readonly conditions: readonly string[] }
  /** Conditions that the application makes anew for each request. */
  | { readonly kind: 'per request' }
  /** Conditions that only a read of the mapper's heeds. */
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

/** Finds out about the filters of a model, and has the mapper write what is known of them at start. */
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
  const quote = (name: string) => platform.quoteIdentifier(name).toString();
  const own = conditionOf(query.clone() as AnyQueryBuilder, meta);
  // SQL of the application may name columns without their table, which joined tables can have as well
  if (own?.isOfRowAlone) return { kind: 'fixed', conditions: own.sql === '' ? [] : [platform.formatQuery(own.sql, own.params)] };
  // of a query that joins others, the condition is that its keys are selected
  const { sql, params } = (query.select(keyOf(meta).name as never) as unknown as AnyQueryBuilder).toQuery();
  const key = `${quote(rootAlias)}.${quote(keyOf(meta).fieldNames[0] as string)}`;
  return { kind: 'fixed', conditions: [`${key} in (${platform.formatQuery(sql, params)})`] };
}

/** Whether a query joins what has a filter of its own, which the mapper would heed as well when it loads the rows. */
export function joinsFiltered({ state }: AnyQueryBuilder): boolean {
  return Object.values(state.joins).some(({ prop }) => prop.targetMeta && isFiltered(prop.targetMeta as EntityMetadata));
}
