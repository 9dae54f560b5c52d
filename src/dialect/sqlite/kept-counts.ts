import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Executor, identityOf, type Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';

/** Counts that are kept. */
const keptCounts = 1000;

/** What can count otherwise although no row has changed. */
const unsteady =
  /\b(random|randomblob|changes|total_changes|last_insert_rowid|current_\w+)\b|\b(date|time|datetime|timediff|julianday|strftime|unixepoch)\s*\(/i;

interface Kept {
  readonly version: unknown;
  readonly rows: unknown[][];
}

/**
 * Keeps what a count came to for as long as nothing is committed to the database. Whether anything was is asked before each
 * answer, which SQLite tells at once, by whatever process it was.
 */
export function keepingCounts(executor: Executor, dialect: Pick<SqliteFileDialect, 'read'>): Executor {
  const steady = new LruCache<boolean>(keptCounts);
  let kept = new LruCache<Kept>(keptCounts);
  let asked: { readonly db: DatabaseSync; readonly statement: StatementSync } | null = null;

  /** Another one after each commit of another connection; the one that reads makes none itself. */
  function versionOf(db: DatabaseSync): unknown {
    if (asked?.db !== db) {
      asked = { db, statement: db.prepare('pragma data_version') };
      // versions of an earlier connection mean nothing here
      kept = new LruCache(keptCounts);
    }
    return asked.statement.get()?.data_version;
  }

  function isSteadyCount({ name, text }: Statement): boolean {
    return steady.get(name, () => /^select count\(/i.test(text) && !unsteady.test(text));
  }

  async function counted(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    const key = `${statement.name} ${parameters.map(identityOf).join()}`;
    const version = await dialect.read(versionOf);
    const known = kept.get(key);
    if (known && known.version === version) return known.rows;
    const rows = await executor.rows(statement, parameters);
    // a commit meanwhile may or may not be counted: the next request sees another version
    kept.set(key, { version, rows });
    return rows;
  }

  return {
    ...executor,
    rows: (statement, parameters) =>
      isSteadyCount(statement) ? counted(statement, parameters) : executor.rows(statement, parameters),
  };
}
