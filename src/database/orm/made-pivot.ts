import type { EntityMetadata } from '@mikro-orm/core';

/**
 * Whether MikroORM made a pivot table, with a class that has the table's name. An application can declare a model for a pivot table,
 * which MikroORM marks in the same way.
 */
export function isMadePivot({ className, pivotTable, relations, schema, tableName }: EntityMetadata): boolean {
  const isNamedAfterTable = className === tableName || className === `${schema}.${tableName}`;
  return pivotTable === true && isNamedAfterTable && relations.some(({ name }) => /_(owner|inverse)$/.test(name));
}
