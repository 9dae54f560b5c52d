import type { Options, Platform } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { parse } from 'pg-connection-string';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import type { DialectSetup } from '../dialect.ts';
import { postgresConnections } from './connections.ts';
import { poolSettings } from './pooled-client.ts';
import { Pooling, type PostgresDatabase } from './pooling.ts';
import { postgresSchema } from './schema/schema.ts';
import { postgresSyntax } from './syntax.ts';
import { postgresValues } from './values.ts';

/** PostgreSQL by `pg`. */
export function setUpPostgres(declared: DatabaseDeclaration): DialectSetup {
  const database: PostgresDatabase = { ...declared, pooling: new Pooling(declared) };
  const { connections, onPoolCreated } = postgresConnections(database);
  return {
    dialect: Object.freeze({
      name: 'postgresql',
      sql: postgresSyntax,
      values: postgresValues,
      connections,
      schema: postgresSchema,
      migrations: async () => (await import('./schema/migrations.ts')).postgresMigrations,
    }),
    options: mapperOptions(database, onPoolCreated),
    adapt(platform) {
      keepLists(platform);
      keepIntervals(platform);
      escapeAtOnce(platform);
    },
  };
}

function mapperOptions(database: PostgresDatabase, onPoolCreated: (pool: Pool) => void): Partial<Options> {
  // the mapper takes only these five from the URL, and would ignore encryption, application name and settings
  const { database: _, host: __, password: ___, port: ____, user: _____, options: ______, ...further } = parse(database.url);
  return {
    driver: PostgreSqlDriver,
    clientUrl: database.url,
    // a database is created only if its schema is
    ensureDatabase: (database.schema === 'update' || database.schema === 'migrate') && !database.readOnly,
    pool: { min: 0, max: database.pool },
    driverOptions: {
      ...database.driverOptions,
      ...further,
      connectionTimeoutMillis: database.connectTimeout,
      ...poolSettings(database),
      onPoolCreated,
    },
  } as Partial<Options>;
}

/** Returns lists in a column as they were sent: the mapper's own format loses spaces, line ends and the text `null`. */
function keepLists(platform: Platform): void {
  const quoted = (item: unknown) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`);
  platform.marshallArray = (items: unknown[]) => `{${items.map(quoted).join(',')}}`;
}

/** Models declare an interval as the text that the server writes; the mapper would parse it. */
function keepIntervals(platform: Platform): void {
  platform.convertIntervalToJSValue = (text) => text;
}

/**
 * The mapper writes values into the text of a statement, and escapes them character by character. That takes forty times the
 * memory of a long text, and half a second for each megabyte.
 */
function escapeAtOnce(platform: Platform): void {
  (platform as unknown as { escapeLiteral(text: string): string }).escapeLiteral = (text) => {
    const quoted = `'${text.replaceAll("'", "''")}'`;
    return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
  };
}
