import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Executor, Statement } from './executor.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';

/** Prepared statements that are kept; beyond that the oldest goes. */
const keptStatements = 500;

/** Sends prepared statements on the connection that reads beside the writer. */
export function sqliteExecutor(dialect: Pick<SqliteFileDialect, 'read'>): Executor {
  const prepared = new Map<string, StatementSync>();
  let preparedOn: DatabaseSync | null = null;

  function prepare(db: DatabaseSync, { name, text, wide }: Statement): StatementSync {
    // statements belong to the connection that they were prepared on
    if (preparedOn !== db) prepared.clear();
    preparedOn = db;
    let statement = prepared.get(name);
    if (!statement) {
      statement = db.prepare(text);
      statement.setReturnArrays(true);
      if (wide) statement.setReadBigInts(true);
      if (prepared.size >= keptStatements) prepared.delete(prepared.keys().next().value as string);
      prepared.set(name, statement);
    }
    return statement;
  }

  return {
    format: 'native',
    rows: (statement, parameters) =>
      dialect.read((db) => {
        const found = prepare(db, statement);
        const values = parameters as SQLInputValue[];
        try {
          return found.all(...values) as unknown as unknown[][];
        } catch (error) {
          if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
          // a column that was not expected to holds an integer beyond 2^53
          found.setReadBigInts(true);
          return found.all(...values) as unknown as unknown[][];
        }
      }),
    async close() {
      prepared.clear();
    },
  };
}
