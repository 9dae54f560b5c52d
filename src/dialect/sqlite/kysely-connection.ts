import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Statement } from '../../database/executor.ts';
import { awaited, type StatementWatch, timed } from '../../database/statement-watch.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import type { RowSteps } from '../dialect.ts';
import { PreparedReads, withPlainNumbers } from './reads/prepared-reads.ts';
import type { RoutedReads } from './reads/routed-reads.ts';
import { beginSnapshot, type Snapshot, type SnapshotSource } from './reads/snapshot.ts';
import type { OtherProcesses, Turn } from './write-lock.ts';

/** The parts that all connections of a dialect share. */
export interface SharedParts {
  readonly writer: DatabaseSync;
  /** Reads outside of transactions; null if the connection that writes is the only one. */
  readonly reads: RoutedReads | null;
  readonly turn: Turn;
  readonly others: OtherProcesses;
  /** The statement that begins a transaction. */
  readonly begin: string;
  readonly watch: StatementWatch | null;
}

/** The connection of Kysely's query builder. Reads run in parallel to the writer; writes wait for their turn. */
export class Connection implements DatabaseConnection {
  readonly #shared: SharedParts;
  #inTransaction = false;
  /** The snapshot of a read-only transaction, which neither waits for others nor blocks them. */
  #snapshot: Snapshot | null = null;

  constructor(shared: SharedParts) {
    this.#shared = shared;
  }

  async beginSnapshot(source: SnapshotSource): Promise<void> {
    this.#snapshot = await beginSnapshot(source);
  }

  /** The rows of a statement in the snapshot, in chunks. */
  async steps(sql: string): Promise<RowSteps> {
    const { ask } = this.#snapshot as Snapshot;
    await ask({ open: { statement: statementOf(sql), parameters: [], as: 'named' } });
    // the snapshot closes its cursor
    return { next: (size) => ask({ next: size }) as Promise<object[]>, close: () => undefined };
  }

  async begin(): Promise<void> {
    const { begin, others, turn, writer } = this.#shared;
    await turn.take();
    try {
      await others.begin(writer, begin);
      this.#inTransaction = true;
    } catch (error) {
      turn.give();
      throw error;
    }
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    if (this.#snapshot) {
      const snapshot = this.#snapshot;
      this.#snapshot = null;
      return snapshot.close();
    }
    if (!this.#inTransaction) return;
    const { turn, writer } = this.#shared;
    // a commit that fails keeps the transaction open, for the rollback that follows it
    if (writer.isTransaction || how === 'commit') writer.exec(how);
    this.#inTransaction = false;
    turn.give();
  }

  command(sql: string): void {
    // a snapshot has no changes that a savepoint could roll back
    if (!this.#snapshot) this.#shared.writer.exec(sql);
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { watch } = this.#shared;
    if (!watch) return this.#execute(query);
    return awaited(watch, query.sql, () => timed(watch, () => this.#execute<R>(query)));
  }

  async #execute<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { others, reads, turn, writer } = this.#shared;
    // statements in this thread return without a turn of the event loop
    if (isTurnLong()) await nextTurn();
    if (this.#snapshot)
      return { rows: (await this.#snapshot.ask({ statement: statementOf(sql), parameters, as: 'named' })) as R[] };
    if (this.#inTransaction) return run<R>(writer, sql, parameters);
    if (reads && onlyReads(sql)) return { rows: (await reads.rows(statementOf(sql), parameters, kindOf(sql))) as R[] };
    await turn.take();
    try {
      return await others.whenFree(writer, () => run<R>(writer, sql, parameters));
    } finally {
      turn.give();
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

function onlyReads(sql: string): boolean {
  return /^\s*select\b/i.test(sql) || (/^\s*with\b/i.test(sql) && !/\b(insert|update|delete|replace)\b/i.test(sql));
}

function run<R>(db: DatabaseSync, sql: string, parameters: readonly unknown[]): QueryResult<R> {
  if (onlyReads(sql)) return { rows: new PreparedReads(db, 'named').rows<R>(statementOf(sql), parameters) };
  const values = parameters as SQLInputValue[];
  const statement = db.prepare(sql);
  // integers beyond 2^53 do not fit a number
  statement.setReadBigInts(true);
  if (statement.columns().length === 0) {
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }
  return { rows: statement.all(...values).map(withPlainNumbers) as R[] };
}

function statementOf(text: string): Statement {
  return { name: text, text, wide: false };
}

/** The mapper writes values into the text. Statements that differ only in values cost about the same. */
function kindOf(sql: string): Statement {
  return statementOf(sql.replace(/'(?:[^']|'')*'|\b\d[\d.]*\b/g, '?').replace(/\?(?:, \?)+/g, '?'));
}
