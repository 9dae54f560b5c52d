import { QueryFlag } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';

type GetCount = (this: QueryBuilder<object>, field?: unknown, distinct?: boolean) => Promise<number>;

let isDone = false;

/** MikroORM counts the rows of a query with `distinct` by `count(distinct *)`, which no database accepts. Here, it counts their keys. */
export function countDistinctKeys(): void {
  if (isDone) return;
  isDone = true;
  const prototype = QueryBuilder.prototype as unknown as { getCount: GetCount };
  const { getCount } = prototype;
  prototype.getCount = function (field, distinct) {
    const isOfRows = field === undefined && this.hasFlag(QueryFlag.DISTINCT);
    return getCount.call(this, isOfRows ? this.mainAlias.meta.primaryKeys : field, distinct);
  };
}
