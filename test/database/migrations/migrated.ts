import { type AbstractSqlConnection, type AbstractSqlPlatform, DatabaseSchema } from '@mikro-orm/sql';
import { createMapper } from '../../../src/database/create-mapper.ts';
import type { Mapper } from '../../../src/database/mapper.ts';
import type { DatabaseDeclaration } from '../../../src/declaration/types.ts';
import { type DatabaseKind, freshDatabase } from '../../support/databases.ts';

export function declared(url: string): DatabaseDeclaration {
  return {
    url,
    schema: 'migrate',
    pool: 2,
    connectTimeout: 5000,
    statementTimeout: 0,
    replicas: [],
  } as unknown as DatabaseDeclaration;
}

/** Runs work with the mapper of some entities. */
export async function withMapper<Result>(
  url: string,
  entities: readonly unknown[],
  work: (mapper: Mapper) => Promise<Result>,
): Promise<Result> {
  const mapper = await createMapper(declared(url), { entities, directory: '.' });
  try {
    await mapper.connect();
    return await work(mapper);
  } finally {
    await mapper.close(true);
  }
}

/** The schema that a database has, as data that can be compared. */
export async function foundSchema(mapper: Mapper): Promise<unknown> {
  const connection = mapper.driver.getConnection() as AbstractSqlConnection;
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  const schema = await DatabaseSchema.create(connection, platform, mapper.config, undefined, undefined, undefined, [
    'mikro_orm_migrations',
  ]);
  return JSON.parse(JSON.stringify(schema));
}

/** The schema of a new database that was made without migrations. */
export async function createdSchema(kind: DatabaseKind, entities: readonly unknown[]): Promise<unknown> {
  const fresh = await freshDatabase(kind);
  try {
    return await withMapper(fresh.url, entities, async (mapper) => {
      await mapper.schema.create();
      return foundSchema(mapper);
    });
  } finally {
    await fresh.drop();
  }
}
