import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** Prepared statements that are kept; beyond that the oldest goes. */
const keptStatements = 200;

/** The columns of a row by their names. */
export type Row = Record<string, unknown>;

interface Prepared {
  readonly statement: StatementSync;
  /** Whether integers come as BigInts, as one of them was beyond 2^53. */
  isWide: boolean;
}

/** Statements that only read, as the mapper writes them, on one SQLite connection. Their rows are objects. */
export class NamedReads {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  rows(sql: string, values: readonly unknown[]): Row[] {
    const prepared = this.#prepared.get(sql) ?? this.#prepare(sql);
    const { statement } = prepared;
    const parameters = values as SQLInputValue[];
    if (!prepared.isWide) {
      try {
        return statement.all(...parameters);
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
        // asking for BigInts always would make every other read slower
        statement.setReadBigInts(true);
        prepared.isWide = true;
      }
    }
    return statement.all(...parameters).map(withPlainNumbers);
  }

  #prepare(sql: string): Prepared {
    const prepared = { statement: this.#db.prepare(sql), isWide: false };
    if (this.#prepared.size >= keptStatements) this.#prepared.delete(this.#prepared.keys().next().value as string);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/** BigInts as numbers, or as text where a number cannot hold them. */
export function withPlainNumbers(row: Row): Row {
  for (const key in row) {
    const value = row[key];
    if (typeof value !== 'bigint') continue;
    const number = Number(value);
    row[key] = Number.isSafeInteger(number) ? number : value.toString();
  }
  return row;
}
