import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Statement } from '../../database/executor.ts';
import { openToRead } from './functions.ts';
import { PreparedReads } from './prepared-reads.ts';

/** Steps through the rows of one statement after the other, each in a snapshot of its own, on a connection of its own. */
export class StepReader {
  readonly #db: DatabaseSync;
  readonly #reads: PreparedReads;
  #statement: StatementSync | null = null;
  #parameters: readonly unknown[] = [];
  #steps: Iterator<unknown> | null = null;
  #taken = 0;

  constructor(file: string, busyTimeout: number) {
    this.#db = openToRead(file, busyTimeout);
    this.#reads = new PreparedReads(this.#db);
  }

  /** Begins a snapshot, which holds from the first row on that is read in it. */
  begin(): void {
    this.#db.exec('begin');
  }

  open({ text, wide }: Statement, parameters: readonly unknown[]): void {
    this.#statement = this.#db.prepare(text);
    this.#statement.setReturnArrays(true);
    if (wide) this.#statement.setReadBigInts(true);
    this.#parameters = parameters;
    this.#taken = 0;
    this.#steps = this.#start(this.#statement);
  }

  next(size: number): unknown[][] {
    const rows: unknown[][] = [];
    while (rows.length < size) {
      const step = this.#step();
      if (step?.done !== false) break;
      rows.push(step.value as unknown[]);
      this.#taken++;
    }
    return rows;
  }

  rows(statement: Statement, parameters: readonly unknown[]): unknown[][] {
    return this.#reads.rows(statement, parameters);
  }

  /** Ends the snapshot. */
  end(): void {
    this.#steps?.return?.();
    this.#steps = null;
    this.#statement = null;
    if (this.#db.isTransaction) this.#db.exec('commit');
  }

  close(): void {
    this.end();
    this.#db.close();
  }

  #start(statement: StatementSync): Iterator<unknown> {
    return statement.iterate(...(this.#parameters as SQLInputValue[])) as Iterator<unknown>;
  }

  #step(): IteratorResult<unknown> | undefined {
    try {
      return this.#steps?.next();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE') throw error;
      // an integer beyond 2^53 where none was expected: once more up to this row, which is the same in the same snapshot
      const statement = this.#statement as StatementSync;
      this.#steps?.return?.();
      statement.setReadBigInts(true);
      this.#steps = this.#start(statement);
      for (let i = 0; i < this.#taken; i++) this.#steps.next();
      return this.#steps.next();
    }
  }
}
