import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { entitiesOf } from '../../model/hierarchy.ts';
import type { Identifier } from '../../model/identifier.ts';
import { amongAny } from '../../model/key-condition.ts';
import { keyColumns } from '../../query/rows/association.ts';
import { hasFlushCode } from '../unit-of-work.ts';

/** Rows whose dependents are removed together. */
const stepSize = 250;

/**
 * Removes what the database would remove with rows of a model, as far as that is better done before; also clears references.
 * The rows themselves are removed by the caller, in the same transaction.
 */
export async function removeDependents(
  mapper: Mapper,
  em: RequestEntityManager,
  { root }: EntityMetadata,
  keys: readonly Identifier[],
): Promise<void> {
  const { removeDependents: remove } = dialectOf(mapper).connections;
  // code of the application may read the dependent rows when the rows are removed
  if (!remove || entitiesOf(mapper).some((meta) => meta.root === root && hasFlushCode(mapper, meta))) return;
  const columns = keyColumns(mapper, root);
  for (let from = 0; from < keys.length; from += stepSize) {
    const { params, sql } = amongAny(root, em.getPlatform(), columns, keys.slice(from, from + stepSize));
    await remove(em, { table: root.tableName, condition: sql, params });
  }
}
