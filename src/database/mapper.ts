import { isAbsolute, resolve } from 'node:path';
import { MikroORM, type Options } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import { type Pool, watchClients, watchPool } from '../dialect/postgresql/pool-watch.ts';
import type { SqliteFileDialect } from '../dialect/sqlite/kysely-dialect.ts';
import type { ConnectionCounts } from './executor.ts';
import type { StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';

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
  readonly onStatement?: OnStatement | undefined;
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
    onQuery: (sql: string, parameters: readonly unknown[]) => {
      options.onStatement?.(sql, parameters);
      return database.readOnly ? withoutLock(sql) : sql;
    },
  };
  let pool: Pool | null = null;
  const driver =
    databaseKind(database.url) === 'sqlite'
      ? await sqliteOptions(database, options.directory)
      : await postgresOptions(database, (made) => {
          pool = made;
          watchPool(made, database);
          watchClients(made, () => watches.get(mapper));
        });
  // MikroORM.init would look for migrations, seeders and generators as well, and load what it finds.
  const mapper = new MikroORM({ ...common, ...driver } as Options) as unknown as Mapper;
  keepLists(mapper);
  keepMilliseconds(mapper);
  escapeAtOnce(mapper);
  pools.set(mapper, () => pool);
  return mapper;
}

/** Who cannot change a row has no need to hold it, and would not be allowed to. */
function withoutLock(sql: string): string {
  return sql.replace(/ for (?:no key update|update|key share|share)(?: of \S+)?(?: nowait| skip locked)?\s*$/i, '');
}

const pools = new WeakMap<Mapper, () => Pool | null>();

/** From now on, what the mapper sends is watched, and whatever else an application sends over the mapper's connections. */
export function watchMapper(mapper: Mapper, watch: StatementWatch): void {
  if (databaseKindOf(mapper) === 'sqlite') (mapper.config.get('driverOptions') as unknown as SqliteFileDialect).watch(watch);
  else watches.set(mapper, watch);
}

const watches = new WeakMap<Mapper, StatementWatch>();

/** The connections of the mapper's own pool; null where it has none. */
export function poolOf(mapper: Mapper): ConnectionCounts | null {
  const pool = pools.get(mapper)?.();
  return pool ? { open: pool.totalCount, used: pool.totalCount - pool.idleCount, waiting: pool.waitingCount } : null;
}

/** Connections of the mapper's own pool that are in use or waited for. */
export function connectionsWanted(mapper: Mapper): number {
  const pool = pools.get(mapper)?.();
  return pool ? pool.totalCount - pool.idleCount + pool.waitingCount : 0;
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

/**
 * A version that is a time tells changes of the same second apart. SQLite's own default does not: what was found out about the
 * models is as it was, so that the columns are the same.
 */
function keepMilliseconds(mapper: Mapper): void {
  if (databaseKindOf(mapper) !== 'sqlite') return;
  mapper.driver.getPlatform().getCurrentTimestampSQL = () => "cast(unixepoch('subsec') * 1000 as integer)";
}

/**
 * The mapper sends values within the text of a statement. On PostgreSQL it escapes them letter by letter, which makes forty times its size of a
 * long text, and takes half a second for each megabyte.
 */
function escapeAtOnce(mapper: Mapper): void {
  if (databaseKindOf(mapper) !== 'postgresql') return;
  const platform = mapper.driver.getPlatform() as { escapeLiteral(text: string): string };
  platform.escapeLiteral = (text) => {
    const quoted = `'${text.replaceAll("'", "''")}'`;
    return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
  };
}

function listIn(text: string): string[] | null {
  if (!text.startsWith('[')) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The file of a SQLite database; null where it is in memory. */
export function sqliteFile(url: string, directory: string): string | null {
  const name = url.slice('sqlite:'.length);
  if (name === ':memory:') return null;
  return isAbsolute(name) ? name : resolve(directory, name);
}

async function sqliteOptions(
  { readOnly, statementTimeout, url }: DatabaseDeclaration,
  directory: string,
): Promise<Partial<Options>> {
  const { SqliteDriver } = await import('@mikro-orm/sql');
  const { SqliteFileDialect } = await import('../dialect/sqlite/kysely-dialect.ts');
  const file = sqliteFile(url, directory) ?? ':memory:';
  const driverOptions = new SqliteFileDialect(file, statementTimeout, readOnly);
  return { driver: SqliteDriver, dbName: file, driverOptions } as Partial<Options>;
}

async function postgresOptions(database: DatabaseDeclaration, onPoolCreated: (pool: Pool) => void): Promise<Partial<Options>> {
  const { PostgreSqlDriver } = await import('@mikro-orm/postgresql');
  const { parse } = await import('pg-connection-string');
  // the mapper takes of an address whom to talk to, and would forget how: encrypted, under which name, with which settings
  const { database: _, host: __, password: ___, port: ____, user: _____, options, ...further } = parse(database.url);
  const settings = [options, database.readOnly && '-c default_transaction_read_only=on'].filter(Boolean);
  return {
    driver: PostgreSqlDriver,
    clientUrl: database.url,
    // only who wants the schema made may have a database made as well
    ensureDatabase: database.schema === 'update' && !database.readOnly,
    pool: { min: 0, max: database.pool },
    driverOptions: {
      ...further,
      connectionTimeoutMillis: database.connectTimeout,
      ...(database.statementTimeout > 0 && { statement_timeout: database.statementTimeout }),
      ...(settings.length > 0 && { options: settings.join(' ') }),
      onPoolCreated,
    },
  } as Partial<Options>;
}
