import type { DatabaseSync } from 'node:sqlite';
import { coalescing, type Executor, type Statement } from './executor.ts';
import { PreparedReads } from './prepared-reads.ts';
import { NoThreads } from './reader-threads.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';
import { StatementCosts } from './statement-costs.ts';

/** Milliseconds for which a statement may hold up everything else; what takes longer is read in a thread. */
const longest = 10;

/** Bytes of a database that is read through in about that time: in a smaller one, no statement is expected to take long. */
const small = 16 * 1024 * 1024;

/**
 * Sends prepared statements on the connection that reads beside the writer. Those that take long are read in a thread, where
 * nobody waits for them but those who asked.
 */
export function sqliteExecutor(dialect: Pick<SqliteFileDialect, 'read' | 'threads'>): Executor {
  const { threads } = dialect;
  const costs = new StatementCosts();
  let reads: PreparedReads | null = null;

  function here(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return dialect.read((db) => {
      // statements belong to the connection that they were prepared on
      if (reads?.db !== db) reads = new PreparedReads(db);
      if (!threads) return reads.rows(statement, parameters);
      const start = performance.now();
      const rows = reads.rows(statement, parameters);
      costs.note(statement, parameters, performance.now() - start);
      return rows;
    });
  }

  if (!threads) return { format: 'native', rows: here, close: async () => forget() };

  const elsewhere = coalescing({
    format: 'native',
    async rows(statement, parameters) {
      try {
        const { rows, took } = await threads.rows(statement, parameters);
        costs.note(statement, parameters, took);
        return rows;
      } catch (error) {
        if (!(error instanceof NoThreads)) throw error;
        return here(statement, parameters);
      }
    },
    close: () => threads.close(),
  });

  async function firstTime(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    const mayTakeLong = await dialect.read((db) => !isSmall(db) && !looksUp(db, statement));
    return mayTakeLong ? elsewhere.rows(statement, parameters) : here(statement, parameters);
  }

  function forget(): void {
    reads = null;
  }

  return {
    format: 'native',
    rows(statement, parameters) {
      const cost = costs.of(statement, parameters);
      if (cost === undefined) return firstTime(statement, parameters);
      return cost > longest ? elsewhere.rows(statement, parameters) : here(statement, parameters);
    },
    async close() {
      forget();
      await elsewhere.close();
    },
  };
}

function isSmall(db: DatabaseSync): boolean {
  const size = db.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').get();
  return Number(size?.bytes) < small;
}

/** Whether every table of a statement is looked into by a unique key, and so for one row. */
function looksUp(db: DatabaseSync, { text }: Statement): boolean {
  const steps = db.prepare(`explain query plan ${text}`).all();
  return steps.every(({ detail }) =>
    /^SEARCH .* USING (INTEGER PRIMARY KEY \(rowid=|INDEX sqlite_autoindex_)/.test(String(detail)),
  );
}
