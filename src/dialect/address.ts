import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { isAbsolute, resolve } from 'node:path';

/** The name of the dialect for a database URL. */
export function dialectName(url: string): 'sqlite' | 'postgresql' {
  return url.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
}

/** Where the database of a URL is: in a file, in the memory of this process, or on a server. */
export function placeOf(url: string, directory: string): { readonly file: string } | 'memory' | 'server' {
  if (dialectName(url) !== 'sqlite') return 'server';
  const name = url.slice('sqlite:'.length);
  if (name === ':memory:') return 'memory';
  return { file: isAbsolute(name) ? name : resolve(directory, name) };
}

/** Whether a database is in a file that does not exist, or in memory. */
export function isAbsent(url: string, directory: string): boolean {
  const place = placeOf(url, directory);
  return place === 'memory' || (place !== 'server' && !existsSync(place.file));
}

/** How to discard all data of a database, for messages. */
export function discardRemedy(url: string): string {
  // SQLite has further files beside the database, such as app.db-wal
  return dialectName(url) === 'sqlite' ? `delete the files ${url.slice('sqlite:'.length)}*` : 'use an empty database';
}

/** The error of a runtime without a module that the database needs; null if it has all of them. */
export function missingModule(url: string): string | null {
  if (dialectName(url) !== 'sqlite' || isBuiltin('node:sqlite')) return null;
  return 'this runtime has no module node:sqlite; use PostgreSQL, Node 22.18 or newer, or Bun 1.4 or newer';
}
