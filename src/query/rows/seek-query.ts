import type { PageEdges } from '../../response/collection.ts';
import { type AnyQueryBuilder, isPlain } from '../entities/restriction.ts';
import type { Seek, SeekPlan } from './seek-plan.ts';

/** Whether a list of what a query selects can go on from a row of it: where it has the order that the plan knows. */
export function canSeek(query: AnyQueryBuilder): boolean {
  return isPlain(query) && query.state.orderBy.length === 0;
}

/** Narrows a query to what is sought. */
export function seekIn(query: AnyQueryBuilder, plan: SeekPlan, seek: Seek): AnyQueryBuilder {
  const root = plan.quoted(query.mainAlias.aliasName);
  const values: unknown[] = [];
  const marked = plan.condition(
    seek,
    (column) => column.valueOf(root),
    (value, position) => {
      values[position] = value;
      return `\u0001${position}\u0001`;
    },
  );
  const params: unknown[] = [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no name of a column has them
  const sql = marked.replace(/\u0001(\d+)\u0001/g, (_, position: string) => {
    params.push(values[Number(position)]);
    return '?';
  });
  return query.andWhere(sql as never, params as never) as AnyQueryBuilder;
}

/** Cuts a page from rows in the order in which they were sought, one more than it takes where there are more. */
export function cutSought<Row>(
  rows: readonly Row[],
  { direction }: Seek,
  limit: number,
): { readonly rows: Row[]; readonly beyond: boolean } {
  const page = rows.slice(0, limit);
  return { rows: direction === 'before' ? page.reverse() : page, beyond: rows.length > limit };
}

/** Which sides of a sought page have rows, where its number does not say: `beyond` in the direction of the search. */
export function sidesOf({ direction }: Seek, beyond: boolean, follows: boolean): Pick<PageEdges, 'earlier' | 'more'> {
  return direction === 'after' ? { more: beyond } : { earlier: beyond, more: follows };
}
