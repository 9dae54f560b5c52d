import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';

/** The name of a model's table, in SQL. */
export function tableOf(mapper: Mapper, meta: EntityMetadata): string {
  return [meta.schema, meta.tableName]
    .filter((part) => part !== undefined)
    .map((part) => mapper.driver.getPlatform().quoteIdentifier(part).toString())
    .join('.');
}
