import {
  type AbstractSqlConnection,
  type AbstractSqlPlatform,
  DatabaseSchema,
  SchemaComparator,
  type SqlSchemaGenerator,
} from '@mikro-orm/sql';
import type { Mapper } from './mapper.ts';

/**
 * The statements that add to a database what the models have and it has not. MikroORM takes a column that is gone and one that is new for a
 * rename if they look alike; here it never is one: what the old column holds may be hidden, and the new one may be shown.
 */
export async function additionsTo(mapper: Mapper): Promise<string> {
  const generator = mapper.schema as unknown as SqlSchemaGenerator;
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  const connection = mapper.driver.getConnection() as AbstractSqlConnection;
  const wanted = generator.getTargetSchema();
  const found = await DatabaseSchema.create(connection, platform, mapper.config, undefined, wanted.getNamespaces());
  await found.loadRoutines(connection, platform, [...wanted.getNamespaces()]);
  found.prune(undefined, []);
  wanted.prune(undefined, []);
  const difference = new SchemaComparator(platform).compare(found, wanted);
  for (const table of Object.values(difference.changedTables)) {
    for (const column of Object.values(table.renamedColumns)) table.addedColumns[column.name] = column;
    table.renamedColumns = {};
  }
  return generator.diffToSQL(difference, { safe: true, wrap: false } as never);
}
