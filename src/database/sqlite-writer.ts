import { PreparedReads } from './prepared-reads.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';
import type { Step, Writer } from './writer.ts';

/** Sends prepared statements on the connection that writes, in turn with everybody else who does. */
export function sqliteWriter(dialect: Pick<SqliteFileDialect, 'write'>): Writer {
  let prepared: PreparedReads | null = null;
  return {
    change: (steps: readonly Step[]) =>
      dialect.write((db) => {
        if (prepared?.db !== db) prepared = new PreparedReads(db);
        let rows: unknown[][] = [];
        for (const { statement, parameters, mayBeEmpty } of steps) {
          rows = prepared.rows(statement, typeof parameters === 'function' ? parameters(rows) : parameters);
          if (rows.length === 0 && !mayBeEmpty) break;
        }
        return rows;
      }),
    // the connection is the mapper's, which closes it
    close: async () => undefined,
  };
}
