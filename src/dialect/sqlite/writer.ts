import type { StatementWatch } from '../../database/statement-watch.ts';
import type { Step, Writer } from '../../database/writer.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './prepared-reads.ts';

/** Sends prepared statements on the connection that writes, in turn with all other writers. */
export function sqliteWriter(dialect: Pick<SqliteFileDialect, 'write' | 'writesUnderWay'>, watch: StatementWatch = {}): Writer {
  let prepared: PreparedReads | null = null;
  return {
    change: (steps: readonly Step[]) =>
      dialect.write((db) => {
        // statements belong to the connection that they were prepared on
        if (prepared?.db !== db) prepared = new PreparedReads(db, 'arrays', { watch });
        let rows: unknown[][] = [];
        for (const { statement, parameters, mayBeEmpty } of steps) {
          rows = prepared.rows(statement, typeof parameters === 'function' ? parameters(rows) : parameters);
          if (rows.length === 0 && !mayBeEmpty) break;
        }
        return rows;
      }),
    underWay: () => dialect.writesUnderWay,
    // the connection is the mapper's, which closes it
    close: async () => undefined,
  };
}
