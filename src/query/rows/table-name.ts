import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';

/** A quoted name in SQL. */
export function quoted(mapper: Mapper, name: string): string {
  return mapper.driver.getPlatform().quoteIdentifier(name).toString();
}

/** The name of a model's table, in SQL. */
export function tableOf(mapper: Mapper, { schema, tableName }: EntityMetadata): string {
  return schema === undefined ? quoted(mapper, tableName) : `${quoted(mapper, schema)}.${quoted(mapper, tableName)}`;
}

/** The name of a property's only column, in SQL. */
export function columnOf(mapper: Mapper, { fieldNames }: EntityProperty): string {
  return quoted(mapper, fieldNames[0] as string);
}
