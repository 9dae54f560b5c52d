import type { Options, Platform } from '@mikro-orm/core';
import { SqliteDriver } from '@mikro-orm/sql';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { placeOf } from '../address.ts';
import type { DialectSetup } from '../dialect.ts';
import { sqliteConnections } from './connections.ts';
import { SqliteFileDialect } from './kysely-dialect.ts';
import { sqliteSchema } from './schema/schema.ts';
import { sqliteSyntax } from './syntax.ts';
import { sqliteValues } from './values.ts';

/** SQLite by Node's built-in `node:sqlite`. */
export function setUpSqlite({ readOnly, statementTimeout, url }: DatabaseDeclaration, directory: string): DialectSetup {
  const place = placeOf(url, directory);
  const file = typeof place === 'object' ? place.file : ':memory:';
  const kysely = new SqliteFileDialect(file, statementTimeout, readOnly);
  return {
    dialect: Object.freeze({
      name: 'sqlite',
      sql: sqliteSyntax,
      values: sqliteValues,
      connections: sqliteConnections(kysely),
      schema: sqliteSchema,
      migrations: async () => (await import('./schema/migrations.ts')).sqliteMigrations,
    }),
    options: { driver: SqliteDriver, dbName: file, driverOptions: kysely } as unknown as Partial<Options>,
    adapt(platform) {
      keepLists(platform);
      keepIntervals(platform);
      keepMilliseconds(platform);
    },
  };
}

/** Returns lists in a column as they were sent: the mapper's own format loses commas and empty texts. */
function keepLists(platform: Platform): void {
  const before = platform.unmarshallArray.bind(platform);
  platform.marshallArray = (items: unknown[]) => JSON.stringify(items);
  platform.unmarshallArray = (text: string) => listIn(text) ?? before(text);
}

function listIn(text: string): string[] | null {
  if (!text.startsWith('[')) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** SQLite gives the type `interval` the affinity of integers, and returns a text such as `1e5` as a number. */
function keepIntervals(platform: Platform): void {
  platform.convertIntervalToJSValue = (value: unknown) =>
    (typeof value === 'number' || typeof value === 'bigint' ? String(value) : value) as string;
}

/** Unlike SQLite's own default, gives two changes within one second different versions, if the version is a time. */
function keepMilliseconds(platform: Platform): void {
  // set after the models were read, so that their columns stay as they were
  platform.getCurrentTimestampSQL = () => "cast(unixepoch('subsec') * 1000 as integer)";
}
