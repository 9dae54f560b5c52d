import type { Executor, ReadLimits } from '../../database/executor.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './reads/prepared-reads.ts';
import { RoutedReads } from './reads/routed-reads.ts';

/** Sends prepared statements on the connection that reads beside the writer, or in threads. */
export function sqliteExecutor(
  dialect: Pick<SqliteFileDialect, 'read' | 'readers' | 'threads'>,
  watch: StatementWatch = {},
  limits?: ReadLimits,
): Executor {
  const options = { watch, ...(limits && { mostBytes: limits.bytes }) };
  let reads: PreparedReads | RoutedReads | null = null;
  return {
    format: 'native',
    rows: (statement, parameters) =>
      dialect.read((db) => {
        // statements belong to the connection that they were prepared on
        if (reads?.db !== db) {
          const { readers, threads } = dialect;
          reads =
            readers && threads
              ? new RoutedReads(readers, threads, 'arrays', options)
              : new PreparedReads(db, 'arrays', { watch });
        }
        return reads.rows(statement, parameters) as unknown[][] | Promise<unknown[][]>;
      }),
    underWay: () => dialect.threads?.underWay ?? 0,
    async close() {
      reads = null;
    },
  };
}
