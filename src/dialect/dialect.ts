import type { EntityManager, Options, Platform } from '@mikro-orm/core';
import type { Cursors } from '../database/cursor.ts';
import type { ConnectionCounts, Executor, ReadLimits } from '../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { ReplicaOptions, ReplicaReads } from '../database/replicas.ts';
import type { FoundColumn, FoundTable, TableName, WantedColumn } from '../database/schema/catalogue.ts';
import type { Inventory } from '../database/schema/inventory.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import type { Writer } from '../database/writer.ts';
import type { Period } from '../declaration/vocabulary.ts';
import type { MigrationTools } from './migration-tools.ts';
import type { ValueKind } from './value-kind.ts';

/** Everything that differs between databases. Each mapper has one dialect. No other code checks which database it runs on. */
export interface Dialect {
  /** The name of the database system in telemetry, page tokens and files of migrations. Nothing else may depend on it. */
  readonly name: string;
  readonly sql: SqlSyntax;
  readonly values: ColumnValues;
  readonly connections: Connections;
  readonly schema: SchemaTools;
  migrations(): Promise<MigrationTools>;
}

/** Pieces of SQL: texts, or texts mixed with parts that become text later. */
export type Pieces<Part> = readonly (Part | string)[];

/** How a piece of SQL is written. Identifiers are quoted by MikroORM's platform. */
export interface SqlSyntax {
  /** The parameter at a position, counted from 1. */
  parameter(position: number): string;
  /** The same with a type, for places without a column to take it from. */
  typedParameter(position: number, type: string): string;
  /** The cast for a parameter that replaces a literal, often empty; null if a parameter cannot replace it. */
  literalCast(value: unknown): string | null;
  /**
   * True for rows whose column is in a list. The list is one parameter, made by {@link ColumnValues.list} or
   * {@link ColumnValues.listText}.
   */
  among<Part>(column: Pieces<Part>, list: Part | string): Pieces<Part>;
  /**
   * True for rows whose columns hold one of a list of keys. The list is one JSON text with a list of values for each key. The types
   * are those of the columns.
   */
  amongKeys(columns: readonly string[], types: readonly string[], list: string): string;
  /** True if the condition is false or unknown. */
  isNotTrue<Part>(condition: Pieces<Part>): Pieces<Part>;
  /** True if a column is like a pattern, ignoring case; the backslash escapes. */
  matches<Part>(column: Pieces<Part>, pattern: Pattern<Part>): Pieces<Part>;
  /** Whether `order by` puts null after all values. */
  nullsLast(direction: 'asc' | 'desc'): boolean;
  /**
   * The clause that makes a `select` lock its rows against change and removal, but not against references. Empty if the database
   * has one writer at a time.
   */
  rowLock(alias?: string): string;
  /** The same for a lock against removal only, as a reference to a row takes it. */
  readonly keyLock: string;
  /** The same for a lock against references as well. */
  readonly removalLock: string;
  /**
   * Rows of parameters as a table expression with the columns `c0`, `c1` and so on, of the given types. `order` is the clause that
   * keeps their order. `mostRows` limits the rows of one statement.
   */
  readonly rowSource: RowSource;
  /**
   * The statement that takes the turn of a kind of transactions until the transaction ends: shared with others, or alone. The
   * kind is its parameter. Null if the database has one writer at a time.
   */
  readonly turn: ((isShared: boolean) => string) | null;
  /** The system column that changes with its row. Null if there is none: then all columns of the row are compared. */
  readonly rowVersion: string | null;
  /** Columns as one text that differs if a value differs. */
  textOf(columns: readonly string[]): string;
  /** True if the columns hold the values of the parameters; null equals null. */
  areSame(columns: readonly string[], parameters: readonly string[]): string;
  /** True if the column has another value than a parameter of its type: not the same characters, or not the same number. */
  differ(column: string, parameter: string, type: string): string;
  /** The bytes that a column takes in a row that is read. */
  bytesOf(column: string): string;
  /** Null if a size is within a limit; otherwise the statement fails, with an error that `isTooLarge` recognizes. */
  failsBeyond(size: string, limit: number): string;
  /** The clause that makes a `select` of rows to remove skip rows that others have locked. */
  readonly skipLocked: string;
  /** The words after `create` for a table whose rows need not survive a crash. */
  readonly scratchTable: string;
  /** Whether a statement that reads can contain one that changes rows (`with … as`). */
  readonly changesWithin: boolean;
  /** Whether a column keeps its collation when its table is joined. */
  readonly keepsCollation: boolean;
  /** The expression that reads a list column in the form that {@link ColumnValues.readsText} requires. */
  listColumn(column: string): string;
  /** The expression that reads a time column of a type in UTC. */
  timeColumn(column: string, type: string): string;
  /** Selects pages of one size at several offsets in one statement; null if the database cannot. */
  readonly pagesAtOffsets: ((pages: PagesAtOffsets) => string) | null;
  /** Estimates numbers of rows; null if the database cannot. */
  readonly estimate: RowEstimate | null;
  readonly aggregates: AggregateSyntax;
  /** Index-backed searches; null if searches use no index. */
  readonly search: SearchSyntax | null;
}

export interface RowSource {
  mostRows(columns: number): number;
  of(types: readonly string[], rows: readonly (readonly unknown[])[]): Promise<RowTable>;
}

export interface RowTable {
  readonly sql: string;
  readonly params: readonly unknown[];
  readonly order: string;
}

/** The pattern that a text is compared with. */
export interface Pattern<Part> {
  readonly text: string;
  /** Makes a parameter of the text. */
  readonly bind: (text: string) => Part;
  /** Whether the database pads the column with blanks. */
  readonly isPadded: boolean;
  /** The result of {@link SchemaTools.collation}. */
  readonly collation: string;
}

/** A list in the order of its key, whose pages are selected by the offsets in the first parameter. */
export interface PagesAtOffsets {
  readonly columns: string;
  readonly table: string;
  readonly key: string;
  readonly joins: readonly string[];
  readonly conditions: readonly string[];
  readonly size: number;
}

export interface RowEstimate {
  /** The statement that estimates the rows of another. */
  statement(rows: string): string;
  /** The number in the first column of its result, as text or parsed. */
  rowsIn(result: unknown): number;
}

/** How values of a group of rows are aggregated. */
export interface AggregateSyntax {
  /** The sum of a column of numbers. */
  sum(column: string, kind: ValueKind): Sum;
  /** The average of a column of numbers, which an executor returns as a number or its digits. */
  average(column: string, kind: ValueKind): string;
  /** A time, cut to the milliseconds that JSON shows: times that look equal are in one group. */
  milliseconds(column: string, type: string): string;
  /** The year, month or day of a date or a time in UTC as text: `2026-11`. */
  period(column: string, kind: 'date' | 'datetime', type: string, period: Period): string;
}

export interface Sum {
  readonly sql: string;
  /** The sort key, if it is not the sum itself. */
  readonly order: readonly string[];
  /** The sum as a number or its digits, from the value that an executor returns. */
  read(value: unknown): unknown;
}

export interface SearchSyntax {
  /** Columns as one document. The index has the same expression. */
  document<Part>(columns: readonly Pieces<Part>[]): Pieces<Part>;
  /** True if each word begins a word of the document. */
  holdsWords<Part>(document: Pieces<Part>, words: readonly string[], bind: (text: string) => Part): Pieces<Part>;
  /** The expression of an index for parts of words. */
  trigrams(column: string): string;
  readonly trigramExtension: string;
  createIndex(name: string, table: string, expression: string): string;
}

/** How values go to the database and come back. */
export interface ColumnValues {
  /** Whether an executor returns every value as text; otherwise as JavaScript values. */
  readonly readsText: boolean;
  /** Whether decimals keep more digits than a double has. */
  readonly exactDecimals: boolean;
  /** Whether a `real` column has single precision. */
  readonly singleReals: boolean;
  /** Whether an integer column holds 64 bits, whatever its declared type. */
  readonly wideIntegers: boolean;
  /** Whether a date that is a `Date` in the model is stored as a number. */
  readonly datesAsNumbers: boolean;
  /** A value of the mapper as the driver takes it in a condition. */
  bindable(value: unknown): unknown;
  /** The same to be stored in a column. */
  storable(value: unknown): unknown;
  /** A value of a filter, parsed for a column of this kind. */
  comparable(value: unknown, kind: ValueKind): unknown;
  /** Values as one parameter of an executor. */
  list(values: Iterable<unknown>): unknown;
  /** Values as one text, which the mapper can also write into a statement. */
  listText(values: readonly unknown[]): string;
  /**
   * Returns a check that a sort key of a page token can be compared with a column of this kind and type. Null if pages cannot be
   * sought by the column.
   */
  sortKeyCheck(kind: ValueKind, columnType: string): ((value: string | number) => boolean) | null;
  /** A sort key of a page token as the driver takes it. */
  sortKey(value: string | number | null, kind: ValueKind): unknown;
  /** The key of an entity as an executor would have returned it. */
  keyAsRead(key: unknown): unknown;
}

/** Rows of a table that are about to be removed. */
export interface RemovedRows {
  readonly table: string;
  readonly condition: string;
  readonly params: readonly unknown[];
}

/** Sends statements. Reads, writes, cursors and the mapper have separate connections. */
export interface Connections {
  /** Whether the database runs in this process; otherwise it is a server, which may be down for a while. */
  readonly inProcess: boolean;
  /** The fix to suggest if the database cannot be opened. */
  readonly remedy: string;
  executor(watch: StatementWatch, limits: ReadLimits): Executor;
  writer(watch: StatementWatch): Writer;
  cursors(watch: StatementWatch): Cursors;
  /** Starts to read from the declared replicas; null if there are none. */
  readonly replicas: ((options: ReplicaOptions) => Promise<ReplicaReads>) | null;
  /** Watches the statements that the mapper sends from now on. */
  watch(watch: StatementWatch): void;
  /** The connections of the mapper's own pool; null if there is none. */
  pool(): ConnectionCounts | null;
  /** Whether a transaction can stay open for reading without blocking others. */
  readonly hasSnapshots: boolean;
  /** Steps through the rows of a query in the transaction that the entity manager is in. */
  rowSteps(em: RequestEntityManager, sql: string, params: readonly unknown[]): Promise<RowSteps>;
  /**
   * Removes the rows that the database would remove with some rows, and clears references, in several turns of the event loop. The
   * entity manager is in a transaction. Null if the database does that elsewhere.
   */
  readonly removeDependents: ((em: RequestEntityManager, rows: RemovedRows) => Promise<void>) | null;
  /** Whether the server itself accepts no changes, such as a replica. */
  isReadOnly(mapper: Mapper): Promise<boolean>;
  /** Makes the database reject changes; throws if it still accepts them. */
  refuseWrites(mapper: Mapper): Promise<void>;
  /** Access to a database that only this process can open; null for any other. */
  readonly memory: MemoryDatabase | null;
}

/** Rows that are fetched in chunks. */
export interface RowSteps {
  next(size: number): Promise<object[]>;
  close(): void;
}

export interface MemoryDatabase {
  /** A value that differs after each change. */
  changes(): Promise<unknown>;
  /** Writes a copy to a new file and returns its URL. */
  copyTo(file: string): Promise<string>;
}

/** Fills a new database. */
export type Seed = ((em: EntityManager) => unknown) | null;

/** Reads and changes the schema of the database. */
export interface SchemaTools {
  /**
   * Changes the schema in one transaction. Processes that start together wait for each other. `plan` may be called again if
   * another process has changed the schema meanwhile. `isNew`: the database has no table yet.
   */
  change<Plan>(
    mapper: Mapper,
    plan: () => Promise<Plan>,
    apply: (em: RequestEntityManager, plan: Plan, isNew: boolean) => Promise<void>,
  ): Promise<void>;
  /** Whether the schema is exactly the one that was created for the models; false if only a comparison can tell. */
  isAsCreated(mapper: Mapper): Promise<boolean>;
  /** The statements that create the extensions that are not installed yet. */
  missingExtensions(em: RequestEntityManager, extensions: readonly string[]): Promise<readonly string[]>;
  /** The statement that selects tables with their columns as one text. */
  catalogue(tables: readonly TableName[]): string;
  /** The tables in that text. */
  tables(catalogue: string): readonly FoundTable[];
  /** The type that a column needs to hold a property; null if the found column can hold it. */
  misfit(wanted: WantedColumn, found: FoundColumn): string | null;
  /** Everything in the database that could become a model. */
  inventory(em: RequestEntityManager): Promise<Inventory>;
  /** Keeps other processes from creating the same table until the transaction ends. */
  lockTable(em: RequestEntityManager, table: string): Promise<void>;
  /** The `collate` clause for comparisons that ignore the case of all letters, beyond ASCII too; empty if none is needed. */
  collation(em: RequestEntityManager): Promise<string>;
}

/** A dialect, with the options to create a mapper for it. */
export interface DialectSetup {
  readonly dialect: Dialect;
  readonly options: Partial<Options>;
  /** Overrides behaviour of the mapper that differs from what Declarest promises. */
  adapt(platform: Platform): void;
}

const dialects = new WeakMap<Platform, Dialect>();

/** Sets the dialect of a mapper, once. */
export function setDialect(platform: Platform, dialect: Dialect): void {
  dialects.set(platform, dialect);
}

export function dialectOf(mapper: Mapper): Dialect {
  return dialectOn(mapper.driver.getPlatform());
}

/** The dialect of the mapper, or of the entity manager, that a platform belongs to. */
export function dialectOn(platform: Platform): Dialect {
  const dialect = dialects.get(platform);
  if (!dialect) throw new Error('this mapper has no dialect; create it with createMapper');
  return dialect;
}
