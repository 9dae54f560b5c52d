import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Executor, identityOf, type Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';
import type { SqliteFileDialect } from '../kysely-dialect.ts';

/** The most counts in the cache. */
const cacheSize = 1000;

/** Functions that can change a count although no row has changed. */
const nonDeterministic =
  /\b(random|randomblob|changes|total_changes|last_insert_rowid|current_\w+)\b|\b(date|time|datetime|timediff|julianday|strftime|unixepoch)\s*\(/i;

interface CachedCount {
  readonly version: unknown;
  readonly rows: unknown[][];
}

/**
 * Caches a count until something is committed to the database. SQLite's data version is checked before each use: that is fast,
 * and covers commits of all processes.
 */
export function withCountCache(executor: Executor, dialect: Pick<SqliteFileDialect, 'read'>): Executor {
  const cacheable = new LruCache<boolean>(cacheSize);
  let cache = new LruCache<CachedCount>(cacheSize);
  let versionQuery: { readonly db: DatabaseSync; readonly statement: StatementSync } | null = null;

  /** Differs after each commit of another connection. The reading connection commits nothing itself. */
  function versionOf(db: DatabaseSync): unknown {
    if (versionQuery?.db !== db) {
      versionQuery = { db, statement: db.prepare('pragma data_version') };
      // versions of different connections cannot be compared
      cache = new LruCache(cacheSize);
    }
    return versionQuery.statement.get()?.data_version;
  }

  function isCacheableCount({ name, text }: Statement): boolean {
    return cacheable.get(name, () => /^select count\(/i.test(text) && !nonDeterministic.test(text));
  }

  async function cachedCount(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    const key = `${statement.name} ${parameters.map(identityOf).join()}`;
    const version = await dialect.read(versionOf);
    const known = cache.get(key);
    if (known && known.version === version) return known.rows;
    const rows = await executor.rows(statement, parameters);
    // a commit meanwhile may or may not be included: the next request sees another version, and counts again
    cache.set(key, { version, rows });
    return rows;
  }

  return {
    ...executor,
    rows: (statement, parameters) =>
      isCacheableCount(statement) ? cachedCount(statement, parameters) : executor.rows(statement, parameters),
  };
}
