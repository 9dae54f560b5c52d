import type { PagesAtOffsets } from '../dialect.ts';

/**
 * Selects several pages. The parameter holds their offsets in ascending order, and the search for each page starts at the one
 * before. The size is not a parameter: the planner would assume a tenth of the table, and read all of it.
 */
export function pagesAtOffsets({ columns, conditions, joins, key, size, table }: PagesAtOffsets): string {
  const where = (further: readonly string[]) => {
    const all = [...conditions, ...further];
    return all.length > 0 ? ` where ${all.join(' and ')}` : '';
  };
  const keyAt = (from: readonly string[], offset: string) =>
    `(select ${key} from ${table}${where(from)} order by ${key} offset ${offset} limit 1)`;
  const next = keyAt([`${key} >= hop.key`], '($1::int8[])[hop.n + 1] - ($1::int8[])[hop.n]');
  const hops = `select 1, ${keyAt([], '($1::int8[])[1]')} union all select hop.n + 1, ${next} from _hop as hop where hop.n < cardinality($1::int8[]) and hop.key is not null`;
  const page = `select ${key} as key from ${table}${where([`${key} >= hop.key`])} order by ${key} limit ${size}`;
  return `with recursive _hop(n, key) as (${hops}) select ${columns}, hop.n from _hop as hop cross join lateral (${page}) as page inner join ${table} on ${key} = page.key ${joins.join(' ')} order by hop.n, ${key}`;
}
