import type { DatabaseSync } from 'node:sqlite';
import { coalescing, type Executor, type Statement } from '../../database/executor.ts';
import { StatementCosts } from '../../database/statement-costs.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { isSmall, longest } from './long-reads.ts';
import { PreparedReads } from './prepared-reads.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

/**
 * Sends prepared statements on the connection that reads beside the writer. Those that take long are read in a thread, where
 * nobody waits for them but those who asked.
 */
export function sqliteExecutor(dialect: Pick<SqliteFileDialect, 'read' | 'threads'>, watch: StatementWatch = {}): Executor {
  const costs = new StatementCosts();
  let reads: PreparedReads | null = null;

  function here(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return dialect.read((db) => {
      // statements belong to the connection that they were prepared on
      if (reads?.db !== db) reads = new PreparedReads(db, watch);
      if (!dialect.threads) return reads.rows(statement, parameters);
      const start = performance.now();
      const rows = reads.rows(statement, parameters);
      costs.note(statement, parameters, performance.now() - start);
      return rows;
    });
  }

  const elsewhere = coalescing({
    format: 'native',
    async rows(statement, parameters) {
      const start = performance.now();
      try {
        const { rows, took } = await (dialect.threads as ReaderThreads).rows<unknown[]>(statement, parameters, 'arrays');
        costs.note(statement, parameters, took);
        watch.answered?.(took, false);
        return rows;
      } catch (error) {
        if (error instanceof NoThreads) return here(statement, parameters);
        watch.answered?.(performance.now() - start, true);
        throw error;
      }
    },
    underWay: () => dialect.threads?.underWay ?? 0,
    close: async () => undefined,
  });

  async function firstTime(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    const mayTakeLong = await dialect.read((db) => !isSmall(db) && !looksUp(db, statement));
    return mayTakeLong ? elsewhere.rows(statement, parameters) : here(statement, parameters);
  }

  return {
    format: 'native',
    rows(statement, parameters) {
      if (!dialect.threads) return here(statement, parameters);
      const cost = costs.of(statement, parameters);
      if (cost === undefined) return firstTime(statement, parameters);
      return cost > longest ? elsewhere.rows(statement, parameters) : here(statement, parameters);
    },
    underWay: () => dialect.threads?.underWay ?? 0,
    async close() {
      reads = null;
    },
  };
}

/** Whether every table of a statement is looked into by a unique key, and so for one row. */
function looksUp(db: DatabaseSync, { text }: Statement): boolean {
  const steps = db.prepare(`explain query plan ${text}`).all();
  return steps.every(({ detail }) =>
    /^SEARCH .* USING (INTEGER PRIMARY KEY \(rowid=|INDEX sqlite_autoindex_)/.test(String(detail)),
  );
}
