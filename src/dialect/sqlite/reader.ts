import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Statement } from '../../database/executor.ts';
import { openToRead } from './open-file.ts';
import { isOutOfRange, PreparedReads, type RowForm } from './prepared-reads.ts';

/** What can be asked of a connection that only reads. A cursor is open from `open` to `end`, and all that is read meanwhile is of one snapshot. */
export type Question =
  | { readonly statement: Statement; readonly parameters: readonly unknown[]; readonly as: RowForm }
  | { readonly open: Statement; readonly parameters: readonly unknown[] }
  /** The next rows of the cursor, at most so many. */
  | { readonly next: number }
  | { readonly end: true };

/** Reads a SQLite file on a connection of its own. */
export class Reader {
  readonly #db: DatabaseSync;
  readonly #reads: Readonly<Record<RowForm, PreparedReads>>;
  #cursor: Generator<unknown, void> | null = null;

  constructor(file: string) {
    this.#db = openToRead(file);
    this.#reads = { arrays: new PreparedReads(this.#db), named: new PreparedReads(this.#db, 'named') };
  }

  rows(question: Question): unknown[] {
    if ('statement' in question) return this.#reads[question.as].rows(question.statement, question.parameters);
    if ('next' in question) return this.#cursor ? nextRows(this.#cursor, question.next) : [];
    if ('open' in question) {
      this.#db.exec('begin');
      this.#cursor = steps(this.#db, question.open, question.parameters);
    } else this.#end();
    return [];
  }

  close(): void {
    this.#end();
    this.#db.close();
  }

  #end(): void {
    this.#cursor?.return();
    this.#cursor = null;
    if (this.#db.isTransaction) this.#db.exec('commit');
  }
}

/** Prepares a statement, and steps through its rows. */
function steps(db: DatabaseSync, { text, wide }: Statement, parameters: readonly unknown[]): Generator<unknown, void> {
  const statement = db.prepare(text);
  statement.setReturnArrays(true);
  if (wide) statement.setReadBigInts(true);
  const start = () => statement.iterate(...(parameters as SQLInputValue[]));
  return rowsOf(start(), () => {
    statement.setReadBigInts(true);
    return start();
  });
}

function* rowsOf(rows: Iterator<unknown> & Iterable<unknown>, withBigInts: () => Iterable<unknown>): Generator<unknown, void> {
  let taken = 0;
  try {
    for (const row of rows) {
      yield row;
      taken++;
    }
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    rows.return?.();
    // once more up to this row, which is the same in the same snapshot
    for (const row of withBigInts()) if (taken-- <= 0) yield row;
  }
}

/** The next rows, at most so many; none at the end. */
export function nextRows<Row>(rows: Iterator<Row>, size: number): Row[] {
  const taken: Row[] = [];
  while (taken.length < size) {
    const { done, value } = rows.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}
