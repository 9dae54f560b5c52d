import type { EntityMetadata } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { SortKey } from '../../declaration/types.ts';
import { isSelected } from '../../model/key-condition.ts';
import { keysSelected } from '../entities/keys.ts';
import { type AnyQueryBuilder, choosesRows, rootAlias } from '../entities/restriction.ts';
import { conditionText } from './condition.ts';
import type { ListQuery } from './list-query.ts';

/**
 * Applies the list parameters of a request to a query. A requested order replaces that of the query. `sort` is the order of the
 * list: it decides which rows a query with a limit selects, before the parameters apply.
 */
export function applyListQuery(
  em: () => RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { condition, visibleRows, sort: requestedSort }: Pick<ListQuery, 'condition' | 'visibleRows' | 'sort'>,
  sort: readonly SortKey[],
): AnyQueryBuilder {
  if (!condition && !requestedSort) return query;
  const whole = choosesRows(query) ? among(em(), meta, query, sort) : query;
  const ordered = requestedSort && whole.state.orderBy.length > 0 ? (whole.clone(['orderBy']) as AnyQueryBuilder) : whole;
  if (!condition) return ordered;
  const quoted = em().getPlatform().quoteIdentifier(ordered.mainAlias.aliasName).toString();
  const { params, sql } = conditionText(condition, quoted, () => '?', visibleRows);
  return ordered.andWhere(sql as never, params as never) as AnyQueryBuilder;
}

/** A query of the rows that another query selects. */
function among(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): AnyQueryBuilder {
  const keys = keysSelected(em, meta, query, sort);
  const outer = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  return outer.where(isSelected(meta, em.getPlatform(), keys) as never);
}
