import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Executor } from './executor.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';

/** Prepared statements that are kept; beyond that the oldest goes. */
const keptStatements = 500;

/** Sends prepared statements on the connection that reads beside the writer. */
export function sqliteExecutor(dialect: SqliteFileDialect): Executor {
  const prepared = new Map<string, StatementSync>();
  return {
    format: 'native',
    rows: ({ name, text, wide }, parameters) =>
      dialect.read((db) => {
        let statement = prepared.get(name);
        if (!statement) {
          statement = db.prepare(text);
          statement.setReturnArrays(true);
          if (wide) statement.setReadBigInts(true);
          if (prepared.size >= keptStatements) prepared.delete(prepared.keys().next().value as string);
          prepared.set(name, statement);
        }
        return statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][];
      }),
    async close() {
      prepared.clear();
    },
  };
}
