import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';
import { type StatementWatch, timed } from '../../../database/statement-watch.ts';
import { TooLargeError } from '../../../database/too-large.ts';

const statementCacheSize = 500;

/** Whether rows are arrays, for compiled statements, or objects, for the mapper. */
export type RowForm = 'arrays' | 'named';

/** The columns of a row by their names. */
export type Row = Record<string, unknown>;

interface Prepared {
  readonly statement: StatementSync;
  /** Whether integers come as BigInts. */
  isWide: boolean;
}

interface PreparedReadsOptions {
  readonly watch?: StatementWatch;
  readonly beforePrepare?: (() => void) | undefined;
}

/** Statements prepared on one SQLite connection. */
export class PreparedReads {
  readonly db: DatabaseSync;
  readonly #form: RowForm;
  readonly #prepared = new LruCache<Prepared>(statementCacheSize);
  readonly #watch: StatementWatch;
  readonly #beforePrepare: (() => void) | undefined;

  constructor(db: DatabaseSync, form: RowForm = 'arrays', { beforePrepare, watch = {} }: PreparedReadsOptions = {}) {
    this.db = db;
    this.#form = form;
    this.#watch = watch;
    this.#beforePrepare = beforePrepare;
  }

  /**
   * The rows of a statement, in the form of these reads.
   * @param mostBytes Beyond this size it throws {@link TooLargeError}, and stops reading.
   */
  rows<Found = unknown[]>(statement: Statement, parameters: readonly unknown[], mostBytes?: number): Found[] {
    if (this.#watch.answered) return timed(this.#watch, () => this.#rows(statement, parameters, mostBytes)) as Found[];
    return this.#rows(statement, parameters, mostBytes) as Found[];
  }

  #rows(statement: Statement, parameters: readonly unknown[], mostBytes?: number): unknown[] {
    const prepared = this.#prepared.get(statement.name, () => this.#prepare(statement));
    const values = parameters as SQLInputValue[];
    const read =
      mostBytes === undefined
        ? () => prepared.statement.all(...values)
        : () => rowsUpTo(mostBytes, prepared.statement.iterate(...values));
    const rows = this.#discardOnError(statement, () => inRange(prepared, read));
    return prepared.isWide && this.#form === 'named' ? rows.map(withPlainNumbers) : rows;
  }

  /**
   * Discards a statement after an error. Its next iteration would throw the same error again: SQLite reports it when the
   * statement is reset.
   */
  #discardOnError(statement: Statement, read: () => Row[]): Row[] {
    try {
      return read();
    } catch (error) {
      this.#prepared.delete(statement.name);
      throw error;
    }
  }

  #prepare({ text, wide }: Statement): Prepared {
    this.#beforePrepare?.();
    const statement = this.db.prepare(text);
    if (this.#form === 'arrays') statement.setReturnArrays(true);
    if (wide) statement.setReadBigInts(true);
    return { statement, isWide: wide };
  }
}

/** Reads again with BigInts if an integer does not fit a number. Always reading BigInts would make every other read slower. */
function inRange(prepared: Prepared, read: () => Row[]): Row[] {
  try {
    return read();
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    prepared.statement.setReadBigInts(true);
    prepared.isWide = true;
    return read();
  }
}

function rowsUpTo(most: number, rows: Iterable<Row>): Row[] {
  const taken: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += sizeOfRow(row);
    if (bytes > most) throw new TooLargeError(most);
    taken.push(row);
  }
  return taken;
}

/** About as many bytes as a row, in either form, takes in a response. */
export function sizeOfRow(row: object): number {
  let bytes = 0;
  for (const value of Object.values(row)) {
    if (typeof value === 'string') bytes += value.length;
    else bytes += ArrayBuffer.isView(value) ? value.byteLength : 8;
  }
  return bytes;
}

/** Whether a column unexpectedly holds an integer beyond 2^53. */
export function isOutOfRange(error: unknown): boolean {
  return (error as { code?: string }).code === 'ERR_OUT_OF_RANGE';
}

/** BigInts as numbers, or as text if a number cannot hold them. */
export function withPlainNumbers(row: Row): Row {
  for (const key in row) {
    const value = row[key];
    if (typeof value !== 'bigint') continue;
    const number = Number(value);
    row[key] = Number.isSafeInteger(number) ? number : value.toString();
  }
  return row;
}
