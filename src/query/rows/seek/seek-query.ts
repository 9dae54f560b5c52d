import type { PageEdges } from '../../../response/collection.ts';
import { type AnyQueryBuilder, isPlain } from '../../entities/restriction.ts';
import { conditionText } from '../../list/condition.ts';
import type { Seek, SeekPlan } from './seek-plan.ts';

/** Whether a list of the rows of a query can continue from one of them: it must have the order of the plan. */
export function canSeek(query: AnyQueryBuilder): boolean {
  return isPlain(query) && query.state.orderBy.length === 0;
}

/** Narrows a query to the rows that are sought. */
export function seekIn(query: AnyQueryBuilder, plan: SeekPlan, seek: Seek): AnyQueryBuilder {
  const root = plan.quoted(query.mainAlias.aliasName);
  const condition = plan.condition(seek, (column) => column.valueOf(root));
  const { params, sql } = conditionText(condition, root, () => '?');
  return query.andWhere(sql as never, params as never) as AnyQueryBuilder;
}

/** Cuts a page from rows in the order in which they were sought. They are one more than the page takes if there are more. */
export function cutSought<Row>(
  rows: readonly Row[],
  { direction }: Seek,
  limit: number,
): { readonly rows: Row[]; readonly beyond: boolean } {
  const page = rows.slice(0, limit);
  return { rows: direction === 'before' ? page.reverse() : page, beyond: rows.length > limit };
}

/** Which sides of a sought page have rows, if its number does not tell. `beyond`: more in the direction of the search. */
export function sidesOf({ direction }: Seek, beyond: boolean, follows: boolean): Pick<PageEdges, 'earlier' | 'more'> {
  return direction === 'after' ? { more: beyond } : { earlier: beyond, more: follows };
}
