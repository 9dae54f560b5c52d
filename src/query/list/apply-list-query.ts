import { type EntityMetadata, raw } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { SortKey } from '../../declaration/types.ts';
import { keyOf } from '../../model/identifier.ts';
import { keysSelected } from '../entities/keys.ts';
import { type AnyQueryBuilder, choosesRows, rootAlias } from '../entities/restriction.ts';
import { conditionText } from './condition.ts';
import type { ListQuery } from './list-query.ts';

/**
 * Narrows a query to what was asked of its list. An order that was asked for takes the place of the query's own. `sort` is the
 * order of the list, which decides what a query with a limit is limited to before it is asked anything.
 */
export function applyListQuery(
  em: () => RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  { condition, sight, sort: askedSort }: Pick<ListQuery, 'condition' | 'sight' | 'sort'>,
  sort: readonly SortKey[],
): AnyQueryBuilder {
  if (!condition && !askedSort) return query;
  const whole = choosesRows(query) ? among(em(), meta, query, sort) : query;
  const ordered = askedSort && whole.state.orderBy.length > 0 ? (whole.clone(['orderBy']) as AnyQueryBuilder) : whole;
  if (!condition) return ordered;
  const quoted = em().getPlatform().quoteIdentifier(ordered.mainAlias.aliasName).toString();
  const { params, sql } = conditionText(condition, quoted, () => '?', sight);
  return ordered.andWhere(sql as never, params as never) as AnyQueryBuilder;
}

/** A query of the rows that another one selects. */
function among(
  em: RequestEntityManager,
  meta: EntityMetadata,
  query: AnyQueryBuilder,
  sort: readonly SortKey[],
): AnyQueryBuilder {
  const { params, sql } = keysSelected(em, meta, query, sort);
  const outer = em.createQueryBuilder(meta.class, rootAlias) as AnyQueryBuilder;
  return outer.where({ [keyOf(meta).name]: { $in: raw(sql, [...params]) } } as never);
}
