import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { chunkBytes } from '../../../database/cursor.ts';
import type { Statement } from '../../../database/executor.ts';
import { openToRead, openToWrite } from '../open-file.ts';
import { StoppableConnection } from '../stoppable-connection.ts';
import { isOutOfRange, PreparedReads, type Row, type RowForm, sizeOfRow, withPlainNumbers } from './prepared-reads.ts';

/** A statement with its parameters, as it is sent to a thread. */
export interface Sent {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
  readonly as: RowForm;
  /** Bytes that the rows may have at most. */
  readonly mostBytes?: number;
}

/** A question to a thread. All reads from `begin` to `end` are in one snapshot, in which one cursor can be open. */
export type Question =
  /** `limit`: milliseconds after which the statement is stopped. Not for a statement in a snapshot. */
  | (Sent & { readonly limit?: number })
  | { readonly begin: true }
  | { readonly open: Sent }
  /** The next rows of the cursor, at most so many, and fewer if they have more than {@link chunkBytes}. */
  | { readonly next: number }
  | { readonly end: true }
  /** Changes rows, on a connection of its own. */
  | { readonly write: Sent | 'begin immediate' | 'commit' | 'rollback' };

/** Reads a SQLite file, and seldom changes it, on connections of its own. */
export class Reader {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #reads: Reads;
  #stoppable: { readonly connection: StoppableConnection; readonly reads: Reads } | null = null;
  #writer: PreparedReads | null = null;
  #cursor: Generator<unknown, void> | null = null;

  constructor(file: string) {
    this.#file = file;
    this.#db = openToRead(file);
    this.#reads = readsOn(this.#db);
  }

  rows(question: Question): unknown[] {
    if ('statement' in question) return this.#read(question);
    if ('write' in question) return this.#write(question.write);
    if ('next' in question) return this.#cursor ? nextRows(this.#cursor, question.next) : [];
    // a snapshot starts with its first read
    if ('begin' in question) this.#db.exec('begin; select 1 from sqlite_master limit 1');
    else if ('open' in question) this.#cursor = steps(this.#db, question.open);
    else this.#end();
    return [];
  }

  #read({ as, limit, mostBytes, parameters, statement }: Sent & { readonly limit?: number }): unknown[] {
    if (limit === undefined) return this.#reads[as].rows(statement, parameters, mostBytes);
    if (!this.#stoppable) {
      const connection = new StoppableConnection(this.#file);
      this.#stoppable = { connection, reads: readsOn(connection.db, () => connection.hideTables()) };
    }
    const { connection, reads } = this.#stoppable;
    return connection.within(limit, () => reads[as].rows(statement, parameters, mostBytes));
  }

  #write(command: Sent | string): unknown[] {
    this.#writer ??= new PreparedReads(openToWrite(this.#file));
    if (typeof command === 'object') return this.#writer.rows(command.statement, command.parameters);
    const { db } = this.#writer;
    // some errors end the transaction by themselves
    if (command !== 'rollback' || db.isTransaction) db.exec(command);
    return [];
  }

  close(): void {
    this.#writer?.db.close();
    this.#end();
    this.#db.close();
    this.#stoppable?.connection.close();
  }

  #end(): void {
    this.#cursor?.return();
    this.#cursor = null;
    if (this.#db.isTransaction) this.#db.exec('commit');
  }
}

type Reads = Readonly<Record<RowForm, PreparedReads>>;

function readsOn(db: DatabaseSync, beforePrepare?: () => void): Reads {
  return {
    arrays: new PreparedReads(db, 'arrays', { beforePrepare }),
    named: new PreparedReads(db, 'named', { beforePrepare }),
  };
}

/** Prepares a statement, and steps through its rows. */
function steps(db: DatabaseSync, { as, parameters, statement: { text, wide } }: Sent): Generator<unknown, void> {
  const statement = db.prepare(text);
  statement.setReturnArrays(as === 'arrays');
  statement.setReadBigInts(wide || as === 'named');
  const start = () => statement.iterate(...(parameters as SQLInputValue[]));
  if (as === 'named') return namedRows(start());
  return rowsOf(start(), () => {
    statement.setReadBigInts(true);
    return start();
  });
}

function* namedRows(rows: Iterable<Row>): Generator<Row, void> {
  for (const row of rows) yield withPlainNumbers(row);
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
    // reads again up to this row: in the same snapshot it is the same
    for (const row of withBigInts()) if (taken-- <= 0) yield row;
  }
}

/** The next rows, at most so many, and no more than fit into a chunk; none at the end. */
function nextRows(rows: Iterator<unknown>, size: number): unknown[] {
  const taken: unknown[] = [];
  for (let bytes = 0; taken.length < size && bytes < chunkBytes; ) {
    const { done, value } = rows.next();
    if (done) break;
    bytes += sizeOfRow(value as object);
    taken.push(value);
  }
  return taken;
}
