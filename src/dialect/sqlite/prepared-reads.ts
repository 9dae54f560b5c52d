import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Statement } from '../../database/executor.ts';
import { type StatementWatch, timed } from '../../database/statement-watch.ts';

/** Prepared statements that are kept; beyond that the oldest goes. */
const keptStatements = 500;

/** Statements prepared on one SQLite connection, whose rows come as arrays. */
export class PreparedReads {
  readonly db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  readonly #answered: StatementWatch['answered'];

  constructor(db: DatabaseSync, watch: StatementWatch = {}) {
    this.db = db;
    this.#answered = watch.answered;
  }

  rows(statement: Statement, parameters: readonly unknown[]): unknown[][] {
    if (this.#answered) return timed(this.#answered, () => this.#rows(statement, parameters));
    return this.#rows(statement, parameters);
  }

  #rows(statement: Statement, parameters: readonly unknown[]): unknown[][] {
    const found = this.#prepared.get(statement.name) ?? this.#prepare(statement);
    const values = parameters as SQLInputValue[];
    try {
      return found.all(...values) as unknown as unknown[][];
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
      // a column that was not expected to holds an integer beyond 2^53
      found.setReadBigInts(true);
      return found.all(...values) as unknown as unknown[][];
    }
  }

  #prepare({ name, text, wide }: Statement): StatementSync {
    const statement = this.db.prepare(text);
    statement.setReturnArrays(true);
    if (wide) statement.setReadBigInts(true);
    if (this.#prepared.size >= keptStatements) this.#prepared.delete(this.#prepared.keys().next().value as string);
    this.#prepared.set(name, statement);
    return statement;
  }
}
