import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { NodeSqliteDialect } from '@mikro-orm/sql';
import type { DialectAdapter, Driver, TransactionSettings } from 'kysely';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { CommitGroup, type Write } from './commit-group.ts';
import { Connection, type SharedParts } from './kysely-connection.ts';
import { inMemory, openForCleanup, openToRead, openToWrite } from './open-file.ts';
import { ReaderThreads } from './reads/reader-threads.ts';
import { type ReadConnections, RoutedReads } from './reads/routed-reads.ts';
import { StoppableConnection } from './stoppable-connection.ts';
import { firstWait, OtherProcesses, Turn } from './write-lock.ts';

/**
 * Node's built-in SQLite behind the query builder that MikroORM uses.
 *
 * One connection writes and a second one reads, so that a read beside an open transaction sees only committed data
 * and does not wait for it (WAL allows this). An in-memory database has one connection, and reads wait for their turn.
 */
export class SqliteFileDialect extends NodeSqliteDialect implements Driver, SharedParts {
  /** Null for a database in memory, which has one connection only. */
  readonly file: string | null;
  /** For long reads and for snapshots; null for a database in memory. */
  threads: ReaderThreads | null = null;
  /** For short reads; null for a database in memory. */
  readers: ReadConnections | null = null;
  readonly #statementTimeout: number;
  #readOnly: boolean;
  /** Watches the statements of the mapper. */
  watch: StatementWatch | null = null;
  readonly turn: Turn;
  readonly others = new OtherProcesses();
  writer!: DatabaseSync;
  reads: RoutedReads | null = null;
  #reader!: DatabaseSync;
  /** Closes last if the others are read-only, and so removes the files that they need beside the database. Sends nothing. */
  #cleanupConnection: DatabaseSync | null = null;
  #isOpen = false;
  readonly #group = new CommitGroup(this);

  constructor(file: string, statementTimeout = 0, readOnly = false) {
    // for MikroORM's own driver, which is not used: init() opens the database
    super(file);
    this.file = file === inMemory ? null : file;
    this.#statementTimeout = statementTimeout;
    this.turn = new Turn(statementTimeout);
    this.#readOnly = readOnly;
  }

  override createDriver(): this {
    return this;
  }

  override createAdapter(): DialectAdapter {
    return Object.defineProperty(super.createAdapter(), 'supportsMultipleConnections', { value: true });
  }

  get begin(): string {
    // immediate: takes the write lock now, as a later upgrade of a read lock can fail
    return this.#readOnly ? 'begin' : 'begin immediate';
  }

  get isReadOnly(): boolean {
    return this.#readOnly;
  }

  /** Writers under way, those that wait for their turn included. */
  get writesUnderWay(): number {
    return this.turn.waiting + this.#group.waiting;
  }

  async init(): Promise<void> {
    if (this.#isOpen) return;
    const { file } = this;
    if (file === null) {
      this.writer = openToWrite(inMemory);
      this.#reader = this.writer;
      this.#isOpen = true;
      return;
    }
    if (this.#readOnly) this.#cleanupConnection = openForCleanup(file);
    else mkdirSync(dirname(file), { recursive: true });
    const openFile = this.#readOnly ? openToRead : openToWrite;
    this.writer = openFile(file, firstWait);
    this.#reader = openFile(file);
    this.readers = { plain: this.#reader, stoppable: new StoppableConnection(file) };
    this.#isOpen = true;
    this.threads = new ReaderThreads(file, this.#statementTimeout);
    this.reads = new RoutedReads(this.readers, this.threads, 'named');
  }

  /** Runs work that only reads, on the connection for reading; it sees only committed data. */
  async read<Result>(work: (db: DatabaseSync) => Result | Promise<Result>): Promise<Result> {
    await this.init();
    if (this.#reader !== this.writer) return work(this.#reader);
    await this.turn.take();
    try {
      return work(this.writer);
    } finally {
      this.turn.give();
    }
  }

  /** Runs work that writes, atomically and when it is its turn. It must not wait for anything. */
  async write<Result>(work: Write<Result>): Promise<Result> {
    await this.init();
    return this.#group.write(work);
  }

  /** Makes the connections of this dialect reject changes from now on. */
  async refuseWrites(): Promise<void> {
    await this.init();
    // a transaction that only reads needs no write lock
    this.#readOnly = true;
    await this.turn.take();
    for (const db of new Set([this.writer, this.#reader])) db.exec('pragma query_only = on');
    this.turn.give();
  }

  async acquireConnection(): Promise<Connection> {
    return new Connection(this);
  }

  async beginTransaction(connection: Connection, { accessMode }: TransactionSettings = {}): Promise<void> {
    if (accessMode === 'read only' && this.file !== null) await connection.beginSnapshot(this);
    else await connection.begin();
  }

  async commitTransaction(connection: Connection): Promise<void> {
    await connection.end('commit');
  }

  async rollbackTransaction(connection: Connection): Promise<void> {
    await connection.end('rollback');
  }

  async savepoint(connection: Connection, name: string): Promise<void> {
    connection.command(`savepoint "${name}"`);
  }

  async rollbackToSavepoint(connection: Connection, name: string): Promise<void> {
    connection.command(`rollback to "${name}"`);
  }

  async releaseSavepoint(connection: Connection, name: string): Promise<void> {
    connection.command(`release "${name}"`);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.threads?.close();
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#reader !== this.writer) this.#reader.close();
    this.readers?.stoppable.close();
    this.readers = null;
    this.writer.close();
    this.#cleanupConnection?.close();
    this.#cleanupConnection = null;
  }
}
