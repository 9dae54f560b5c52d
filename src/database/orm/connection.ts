import { isAbsolute, resolve } from 'node:path';
import type { Configuration } from '@mikro-orm/core';
import { anotherCopy } from './errors.ts';

export interface OrmConnection {
  readonly url: string;
  readonly driverOptions: Readonly<Record<string, unknown>>;
}

const supported =
  'Declarest supports PostgreSqlDriver of @mikro-orm/postgresql, and SqliteDriver of @mikro-orm/sql (node:sqlite opens the file)';

/** The database of a configuration. Throws an error if Declarest has no dialect for its driver. */
export async function connectionOf(config: Configuration): Promise<OrmConnection> {
  const driver: unknown = config.get('driver');
  const { name } = driver as { name: string };
  const { SqliteDriver } = await import('@mikro-orm/sql');
  if (driver === SqliteDriver) return sqliteFile(config);
  // loaded only if it is needed, and not installed in every application
  const { PostgreSqlDriver } = await import('@mikro-orm/postgresql').catch(() => ({ PostgreSqlDriver: null }));
  if (driver === PostgreSqlDriver) return postgresServer(config);
  if (name === PostgreSqlDriver?.name) throw new Error(anotherCopy(`the driver ${name}`));
  throw new Error(`the driver ${name} is not supported; ${supported}`);
}

function sqliteFile(config: Configuration): OrmConnection {
  if ((config.get('attachDatabases') ?? []).length > 0)
    throw new Error('attachDatabases is not supported; Declarest opens one database file');
  const name = config.get('dbName') as string;
  if (name === ':memory:') return { url: 'sqlite::memory:', driverOptions: {} };
  const file = isAbsolute(name) ? name : resolve(config.get('baseDir') as string, name);
  return { url: `sqlite:${file}`, driverOptions: {} };
}

function postgresServer(config: Configuration): OrmConnection {
  const { clientUrl, dbName, driverOptions, host, password, port, user } = config.getAll();
  if (typeof password === 'function')
    throw new Error('a function as the password is not supported; write the password itself, or app_main.database.url');
  if (typeof driverOptions !== 'object' || Object.getPrototypeOf(driverOptions) !== Object.prototype)
    throw new Error('driverOptions must be a plain object with options of pg; Declarest opens its own connections');
  const url = new URL(clientUrl as string);
  if (host?.startsWith('/')) url.searchParams.set('host', host);
  else if (host) url.hostname = host;
  if (port) url.port = String(port);
  if (user) url.username = encodeURIComponent(user);
  if (password) url.password = encodeURIComponent(password);
  url.pathname = `/${encodeURIComponent(dbName as string)}`;
  return { url: url.href, driverOptions: driverOptions as Record<string, unknown> };
}
