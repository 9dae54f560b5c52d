import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import {
  type DatabaseConnection,
  type Driver,
  type Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { openToRead } from './functions.ts';
import { Connection, watched } from './kysely-connection.ts';
import { MapperReads } from './mapper-reads.ts';
import { openToTidy, openToWrite, type Source } from './open-file.ts';
import { ReaderThreads } from './reader-threads.ts';
import { busyTimeout, firstWait, OtherProcesses, Turn } from './write-lock.ts';

const inMemory = ':memory:';

/**
 * Node's built-in SQLite behind the query builder that MikroORM uses.
 *
 * One connection writes and a second one reads, so that a read beside an open transaction sees only what is committed
 * and does not wait for it (WAL allows this). An in-memory database has one connection, and reads wait for their turn.
 */
export class SqliteFileDialect extends SqliteDialect {
  readonly #driver: SqliteFileDriver;

  constructor(file: string, statementTimeout = 0, readOnly = false) {
    super({ database: () => Promise.reject(new Error('connections are opened by SqliteFileDialect itself')) });
    this.#driver = new SqliteFileDriver(file, statementTimeout, readOnly);
  }

  /** Where what takes long is read; there are none for a database in memory, which has one connection only. */
  get threads(): ReaderThreads | null {
    return this.#driver.threads;
  }

  /** None can be opened to a database in memory. */
  get source(): Source | null {
    return this.#driver.source;
  }

  /** Runs work that only reads, on the connection for reading; it sees what is committed. */
  read<Result>(work: (db: DatabaseSync) => Result): Promise<Result> {
    return this.#driver.read(work);
  }

  /** Runs work that writes, as a transaction of its own, when it is its turn. */
  write<Result>(work: (db: DatabaseSync) => Result | Promise<Result>): Promise<Result> {
    return this.#driver.write(work);
  }

  /** From now on the database refuses to be changed, as far as it is asked on the connections of this dialect. */
  refuseWrites(): Promise<void> {
    return this.#driver.refuseWrites();
  }

  /** Those who write, or wait for their turn. */
  get writesUnderWay(): number {
    return this.#driver.writesUnderWay;
  }

  /** From now on, what the mapper sends is watched. */
  watch(watch: StatementWatch): void {
    this.#driver.watch = watch;
  }

  override createDriver(): Driver {
    return this.#driver;
  }

  override createAdapter(): SqliteAdapter {
    return new ManyConnectionsAdapter();
  }

  override createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }

  // biome-ignore lint/suspicious/noExplicitAny: Kysely's own signature
  override createIntrospector(db: Kysely<any>): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }
}

class ManyConnectionsAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class SqliteFileDriver implements Driver {
  threads: ReaderThreads | null = null;
  watch: StatementWatch | null = null;
  readonly #file: string;
  readonly #statementTimeout: number;
  #readOnly: boolean;
  readonly #turn = new Turn();
  readonly #others = new OtherProcesses();
  #writer!: DatabaseSync;
  #reader!: DatabaseSync;
  #reads: MapperReads | null = null;
  /** Sends nothing, and is the last to close where the others can only read: it takes away the files that they need beside the database. */
  #tidier: DatabaseSync | null = null;
  #isOpen = false;

  constructor(file: string, statementTimeout: number, readOnly: boolean) {
    this.#file = file;
    this.#statementTimeout = statementTimeout;
    this.#readOnly = readOnly;
  }

  get #begin(): string {
    return this.#readOnly ? 'begin' : 'begin immediate';
  }

  get writesUnderWay(): number {
    return this.#turn.waiting;
  }

  get source(): Source | null {
    return this.#file === inMemory ? null : { file: this.#file, busyTimeout };
  }

  async init(): Promise<void> {
    if (this.#isOpen) return;
    if (this.#file === inMemory) {
      this.#writer = openToWrite(this.#file);
      this.#reader = this.#writer;
      this.#isOpen = true;
      return;
    }
    if (!this.#readOnly) mkdirSync(dirname(this.#file), { recursive: true });
    if (this.#readOnly) this.#tidier = openToTidy(this.#file);
    const openFile = this.#readOnly ? (file: string) => openToRead(file, busyTimeout) : openToWrite;
    this.#writer = openFile(this.#file, firstWait);
    this.#reader = openFile(this.#file);
    this.#isOpen = true;
    this.threads = new ReaderThreads({ file: this.#file, busyTimeout }, this.#statementTimeout);
    this.#reads = new MapperReads(this.#reader, this.threads);
  }

  async read<Result>(work: (db: DatabaseSync) => Result): Promise<Result> {
    await this.init();
    if (this.#reader !== this.#writer) return work(this.#reader);
    await this.#turn.take();
    try {
      return work(this.#writer);
    } finally {
      this.#turn.give();
    }
  }

  async write<Result>(work: (db: DatabaseSync) => Result | Promise<Result>): Promise<Result> {
    await this.init();
    await this.#turn.take();
    try {
      const waiting = this.#others.begin(this.#writer, this.#begin);
      if (waiting) await waiting;
      try {
        const result = await work(this.#writer);
        this.#writer.exec('commit');
        return result;
      } catch (error) {
        // some errors end the transaction by themselves
        if (this.#writer.isTransaction) this.#writer.exec('rollback');
        throw error;
      }
    } finally {
      this.#turn.give();
    }
  }

  async refuseWrites(): Promise<void> {
    await this.init();
    // what only reads needs no right to write
    this.#readOnly = true;
    await this.#turn.take();
    for (const db of new Set([this.#writer, this.#reader])) db.exec('pragma query_only = on');
    this.#turn.give();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const connection = new Connection(this.#writer, this.#reads, this.#turn, this.#others, this.#begin, this.source);
    return this.watch ? watched(connection, this.watch) : connection;
  }

  async beginTransaction(connection: DatabaseConnection, { accessMode }: TransactionSettings = {}): Promise<void> {
    if (accessMode === 'read only' && this.source) (connection as Connection).beginSnapshot();
    else await (connection as Connection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    (connection as Connection).end('commit');
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    (connection as Connection).end('rollback');
  }

  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    (connection as Connection).command(`savepoint "${name}"`);
  }

  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    (connection as Connection).command(`rollback to "${name}"`);
  }

  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    (connection as Connection).command(`release "${name}"`);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.threads?.close();
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#reader !== this.#writer) this.#reader.close();
    this.#writer.close();
    this.#tidier?.close();
    this.#tidier = null;
  }
}
