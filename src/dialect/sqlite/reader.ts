import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
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
  #cursor: Steps | null = null;

  constructor(file: string) {
    this.#db = openToRead(file);
    this.#reads = { arrays: new PreparedReads(this.#db), named: new PreparedReads(this.#db, 'named') };
  }

  rows(question: Question): unknown[] {
    if ('statement' in question) return this.#reads[question.as].rows(question.statement, question.parameters);
    if ('next' in question) return this.#cursor?.next(question.next) ?? [];
    if ('open' in question) {
      this.#db.exec('begin');
      this.#cursor = new Steps(this.#db, question.open, question.parameters);
    } else this.#end();
    return [];
  }

  close(): void {
    this.#end();
    this.#db.close();
  }

  #end(): void {
    this.#cursor?.end();
    this.#cursor = null;
    if (this.#db.isTransaction) this.#db.exec('commit');
  }
}

/** Steps through the rows of one statement. */
class Steps {
  readonly #statement: StatementSync;
  readonly #parameters: SQLInputValue[];
  #rows: Iterator<unknown>;
  #taken = 0;

  constructor(db: DatabaseSync, { text, wide }: Statement, parameters: readonly unknown[]) {
    this.#statement = db.prepare(text);
    this.#statement.setReturnArrays(true);
    if (wide) this.#statement.setReadBigInts(true);
    this.#parameters = parameters as SQLInputValue[];
    this.#rows = this.#start();
  }

  next(size: number): unknown[] {
    const rows: unknown[] = [];
    while (rows.length < size) {
      const step = this.#step();
      if (step.done) break;
      rows.push(step.value);
      this.#taken++;
    }
    return rows;
  }

  end(): void {
    this.#rows.return?.();
  }

  #start(): Iterator<unknown> {
    return this.#statement.iterate(...this.#parameters) as Iterator<unknown>;
  }

  #step(): IteratorResult<unknown> {
    try {
      return this.#rows.next();
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
      // once more up to this row, which is the same in the same snapshot
      this.end();
      this.#statement.setReadBigInts(true);
      this.#rows = this.#start();
      for (let i = 0; i < this.#taken; i++) this.#rows.next();
      return this.#rows.next();
    }
  }
}
