import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { patienceHere, waitsForItself } from '../../database/own-transaction.ts';
import { awaited, type StatementWatch, timedAsync } from '../../database/statement-watch.ts';
import { addFunctions, openToRead } from './functions.ts';
import { MapperReads } from './mapper-reads.ts';
import { NamedReads, type Row, withPlainNumbers } from './named-reads.ts';
import { ReaderThreads } from './reader-threads.ts';

/** How long a statement waits for another process's write to end, in milliseconds. */
const busyTimeout = 5000;

/** How long the first statement that meets one holds up this process for it, and how long those after it. */
const firstWait = 1000;
const shortWait = 2;

/** Milliseconds that the beginning of a transaction takes only where it had to wait. */
const noticeable = 5;

const inMemory = ':memory:';

/** What another connection to the same data is opened with. */
interface Source {
  readonly file: string;
  readonly busyTimeout: number;
}

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
  readonly #readOnly: boolean;
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
      this.#writer = open(this.#file);
      this.#reader = this.#writer;
      this.#isOpen = true;
      return;
    }
    if (!this.#readOnly) mkdirSync(dirname(this.#file), { recursive: true });
    if (this.#readOnly) this.#tidier = openToTidy(this.#file);
    const openFile = this.#readOnly ? (file: string) => openToRead(file, busyTimeout) : open;
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

class Connection implements DatabaseConnection {
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

function watched(connection: Connection, watch: StatementWatch): Connection {
  const { executeQuery } = connection;
  connection.executeQuery = <R>(query: CompiledQuery) =>
    awaited(watch, query.sql, () => timedAsync(watch, () => executeQuery.call(connection, query) as Promise<QueryResult<R>>));
  return connection;
}

/** Waits for other processes that write. SQLite would wait as well, but holds up the whole process meanwhile. */
class OtherProcesses {
  #areKnown = false;

  /** Begins a transaction that writes. */
  begin(db: DatabaseSync, statement: string): void | Promise<void> {
    const start = this.#areKnown ? 0 : performance.now();
    const waiting = this.whenFree(db, () => db.exec(statement));
    if (!this.#areKnown && performance.now() - start > noticeable) this.#know(db);
    return waiting;
  }

  /** Does what another process may be in the way of, at once or as soon as it is not. */
  whenFree<Result>(db: DatabaseSync, work: () => Result): Result | Promise<Result> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      this.#know(db);
      return this.#again(work);
    }
  }

  /** From now on SQLite says at once that somebody is in the way. */
  #know(db: DatabaseSync): void {
    if (!this.#areKnown) db.exec(`pragma busy_timeout = ${shortWait}`);
    this.#areKnown = true;
  }

  async #again<Result>(work: () => Result): Promise<Result> {
    const end = performance.now() + busyTimeout - firstWait;
    for (let pause = 1; ; pause = Math.min(2 * pause, 20)) {
      // those who wait at the same time do not come back at the same time
      await sleep(pause * (0.5 + Math.random()));
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= end) throw error;
      }
    }
  }
}

function isBusy(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && (Number(errcode) & 0xff) === 5;
}

/** Hands out the right to write, one at a time, in the order asked for. */
class Turn {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  get waiting(): number {
    return this.#waiting.length + (this.#taken ? 1 : 0);
  }

  take(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    const patience = patienceHere();
    if (patience !== null) return this.#takeInTime(patience);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #takeInTime(patience: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(waitsForItself());
      }, patience);
      this.#waiting.push(turn);
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

function open(file: string, timeout = busyTimeout): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeout });
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
  addFunctions(db);
  if (timeout !== busyTimeout) db.exec(`pragma busy_timeout = ${timeout}`);
  return db;
}

/** Null where the file is not ours to write, and so nothing beside it is ours to remove. */
function openToTidy(file: string): DatabaseSync | null {
  try {
    const db = new DatabaseSync(file, { timeout: busyTimeout });
    // until something is read, the connection does not know what kind of file it is
    db.prepare('select 1 from sqlite_master').get();
    return db;
  } catch {
    return null;
  }
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
