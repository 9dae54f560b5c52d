import { isAbsolute, resolve } from 'node:path';
import { MikroORM, type Options } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { DatabaseDeclaration } from '../declaration/types.ts';

/** MikroORM with its metadata discovered. It connects when the first statement is sent. */
// biome-ignore lint/suspicious/noExplicitAny: the driver is chosen at start
export type Mapper = MikroORM<any, RequestEntityManager>;

/** The entity manager of one request. */
// biome-ignore lint/suspicious/noExplicitAny: see Mapper
export type RequestEntityManager = SqlEntityManager<any>;

export type DatabaseKind = 'sqlite' | 'postgresql';

export interface MapperOptions {
  readonly entities: readonly unknown[];
  /** The application's directory, which relative file names start from. */
  readonly directory: string;
  /** Sees the text of every statement before it is sent. */
  readonly onStatement?: ((sql: string) => void) | undefined;
}

export function databaseKind(url: string): DatabaseKind {
  return url.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
}

export function databaseKindOf(mapper: Mapper): DatabaseKind {
  return mapper.driver.constructor.name.startsWith('Sqlite') ? 'sqlite' : 'postgresql';
}

/** Makes the mapper of an application: reads its models and chooses the driver, without opening a connection. */
export async function createMapper(database: DatabaseDeclaration, options: MapperOptions): Promise<Mapper> {
  const common: Partial<Options> = {
    entities: [...options.entities] as NonNullable<Options['entities']>,
    discovery: { warnWhenNoEntities: false },
    loadStrategy: 'balanced',
    onQuery: (sql: string) => {
      options.onStatement?.(sql);
      return sql;
    },
  };
  const driver =
    databaseKind(database.url) === 'sqlite' ? await sqliteOptions(database, options.directory) : await postgresOptions(database);
  // MikroORM.init would look for migrations, seeders and generators as well, and load what it finds.
  const mapper = new MikroORM({ ...common, ...driver } as Options) as unknown as Mapper;
  keepLists(mapper);
  return mapper;
}

/**
 * Lists in a column come back as they were given. The mapper's own writing loses spaces, line ends, empty texts and the
 * text `null` on one database or the other.
 */
function keepLists(mapper: Mapper): void {
  const platform = mapper.driver.getPlatform();
  if (databaseKindOf(mapper) === 'postgresql') {
    const quoted = (item: unknown) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`);
    platform.marshallArray = (items: unknown[]) => `{${items.map(quoted).join(',')}}`;
    return;
  }
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

async function sqliteOptions({ url, statementTimeout }: DatabaseDeclaration, directory: string): Promise<Partial<Options>> {
  const { SqliteDriver } = await import('@mikro-orm/sql');
  const { SqliteFileDialect } = await import('./sqlite-dialect.ts');
  const name = url.slice('sqlite:'.length);
  const file = name === ':memory:' || isAbsolute(name) ? name : resolve(directory, name);
  return { driver: SqliteDriver, dbName: file, driverOptions: new SqliteFileDialect(file, statementTimeout) } as Partial<Options>;
}

async function postgresOptions(database: DatabaseDeclaration): Promise<Partial<Options>> {
  const { PostgreSqlDriver } = await import('@mikro-orm/postgresql');
  return {
    driver: PostgreSqlDriver,
    clientUrl: database.url,
    // only who wants the schema made may have a database made as well
    ensureDatabase: database.schema === 'update',
    pool: { min: 0, max: database.pool },
    driverOptions: {
      connectionTimeoutMillis: database.connectTimeout,
      ...(database.statementTimeout > 0 && { statement_timeout: database.statementTimeout }),
    },
  } as Partial<Options>;
}
