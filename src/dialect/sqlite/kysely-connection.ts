import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { awaited, type StatementWatch, timedAsync } from '../../database/statement-watch.ts';
import { openToRead } from './functions.ts';
import type { MapperReads } from './mapper-reads.ts';
import { NamedReads, type Row, withPlainNumbers } from './named-reads.ts';
import type { Source } from './open-file.ts';
import type { OtherProcesses, Turn } from './write-lock.ts';

/** What the query builder sends its statements on: it reads beside the writer, and writes in turn with everybody else. */
export class Connection implements DatabaseConnection {
  readonly #writer: DatabaseSync;
  /** Null where the connection that writes is the only one. */
  readonly #reads: MapperReads | null;
  readonly #turn: Turn;
  readonly #others: OtherProcesses;
  readonly #begin: string;
  readonly #source: Source | null;
  #inTransaction = false;
  /** Where a transaction that only reads takes place, which neither waits for others nor makes them wait. */
  #snapshot: DatabaseSync | null = null;

  constructor(
    writer: DatabaseSync,
    reads: MapperReads | null,
    turn: Turn,
    others: OtherProcesses,
    begin: string,
    source: Source | null,
  ) {
    this.#writer = writer;
    this.#begin = begin;
    this.#reads = reads;
    this.#turn = turn;
    this.#others = others;
    this.#source = source;
  }

  beginSnapshot(): void {
    const { file, busyTimeout: timeout } = this.#source as Source;
    this.#snapshot = openToRead(file, timeout);
    // it begins with the first read, and that is now
    this.#snapshot.exec('begin; select 1 from sqlite_master limit 1');
  }

  /** The rows of a statement in the snapshot, one after the other. */
  steps(sql: string): Iterator<Row> {
    const statement = (this.#snapshot as DatabaseSync).prepare(sql);
    statement.setReadBigInts(true);
    const rows = statement.iterate() as Iterator<Row>;
    return {
      next: () => {
        const { done, value } = rows.next();
        return done ? { done: true, value: undefined } : { done: false, value: withPlainNumbers(value) };
      },
      return: () => {
        rows.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  async begin(): Promise<void> {
    await this.#turn.take();
    try {
      // immediate: the write lock is taken now, so that a later statement cannot fail for being unable to upgrade
      await this.#others.begin(this.#writer, this.#begin);
      this.#inTransaction = true;
    } catch (error) {
      this.#turn.give();
      throw error;
    }
  }

  end(how: 'commit' | 'rollback'): void {
    if (this.#snapshot) {
      this.#snapshot.close();
      this.#snapshot = null;
      return;
    }
    if (!this.#inTransaction) return;
    // a commit that fails keeps the transaction open, for the rollback that follows it
    if (this.#writer.isTransaction || how === 'commit') this.#writer.exec(how);
    this.#inTransaction = false;
    this.#turn.give();
  }

  command(sql: string): void {
    (this.#snapshot ?? this.#writer).exec(sql);
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters as SQLInputValue[];
    if (this.#snapshot) return run<R>(this.#snapshot, sql, values);
    if (this.#inTransaction) return run<R>(this.#writer, sql, values);
    if (this.#reads && onlyReads(sql)) return { rows: (await this.#reads.rows(sql, values)) as R[] };
    await this.#turn.take();
    try {
      return await this.#others.whenFree(this.#writer, () => run<R>(this.#writer, sql, values));
    } finally {
      this.#turn.give();
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** Tells a watch of every statement of a connection. */
export function watched(connection: Connection, watch: StatementWatch): Connection {
  const { executeQuery } = connection;
  connection.executeQuery = <R>(query: CompiledQuery) =>
    awaited(watch, query.sql, () => timedAsync(watch, () => executeQuery.call(connection, query) as Promise<QueryResult<R>>));
  return connection;
}

function onlyReads(sql: string): boolean {
  return /^\s*select\b/i.test(sql) || (/^\s*with\b/i.test(sql) && !/\b(insert|update|delete|replace)\b/i.test(sql));
}

function run<R>(db: DatabaseSync, sql: string, values: SQLInputValue[]): QueryResult<R> {
  if (onlyReads(sql)) return { rows: new NamedReads(db).rows(sql, values) as R[] };
  const statement = db.prepare(sql);
  // integers beyond 2^53 do not fit a number
  statement.setReadBigInts(true);
  if (statement.columns().length === 0) {
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }
  return { rows: statement.all(...values).map(withPlainNumbers) as R[] };
}
