import type { DatabaseSync } from 'node:sqlite';
import { openToRead } from './open-file.ts';
import type { Stopwatch } from './stopwatch.ts';

/** Called for the rows that a statement looks at. */
export const rowFunction = 'declarest_row';

/** A statement was stopped because it took longer than it was given. */
export class Stopped extends Error {}

/** Bytes of a row up to which a statement may look at several rows before it can be stopped. */
const smallRow = 2048;

/**
 * Is true for 14 of 16 rows. The second part is for numbers with gaps: of those that are 16 or 100 apart, the first may be true for all.
 * It takes a fraction of the time of a call.
 */
export const isSkipped = '((_rowid_ & 31) and ((_rowid_ & 65535) * 40503 >> 12 & 15))';

/**
 * A connection that reads, on which a statement ends after a given time. SQLite in Node cannot be told to stop, but a function that it
 * calls can throw. So each table is hidden behind a view of its name, which calls a function and selects the same rows; SQLite merges such
 * a view into the statement, with the same plan. A call costs a few tenths of a microsecond, more than the rest of the work on a small row.
 * So in tables with small rows it is called for one of about eleven.
 */
export class StoppableConnection {
  readonly db: DatabaseSync;
  #until = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;
  #stopwatch: Stopwatch | undefined;
  #version: unknown;

  constructor(file: string) {
    this.db = openToRead(file);
    // not deterministic, or SQLite would call it once
    this.db.function(rowFunction, () => {
      if (performance.now() > this.#until) this.#stopIfCostly();
      return 1;
    });
  }

  /** Runs statements that end after so many milliseconds, or, with a stopwatch, when they have cost so many. */
  within<Result>(limit: number, run: () => Result, stopwatch?: Stopwatch): Result {
    this.#stopwatch = stopwatch;
    this.#limit = limit;
    this.#until = performance.now() + limit;
    try {
      return run();
    } finally {
      this.#until = Number.POSITIVE_INFINITY;
    }
  }

  #stopIfCostly(): void {
    if (!this.#stopwatch || this.#stopwatch.cost() > this.#limit) throw new Stopped('the statement was stopped');
    this.#until = performance.now() + 1;
  }

  /** Hides the tables that there are now. Called before a statement is prepared. */
  hideTables(): void {
    const version = this.db.prepare('pragma main.schema_version').get()?.schema_version;
    if (version === this.#version) return;
    const hidden = this.db.prepare("select name from temp.sqlite_master where type = 'view'").all();
    for (const { name } of hidden) this.db.exec(`drop view temp.${quoted(name)}`);
    for (const sql of this.#views()) this.db.exec(sql);
    this.#version = version;
  }

  *#views(): Generator<string> {
    const tables = this.db.prepare(
      "select name, wr from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    );
    for (const { name, wr } of tables.all()) {
      const skip = wr === 0 && this.#hasSmallRows(String(name)) ? `${isSkipped} or ` : '';
      yield `create temp view ${quoted(name)} as select * from main.${quoted(name)} where ${skip}${rowFunction}()`;
    }
  }

  /** Whether the first and the last rows of a table are small. Large ones take long, and are looked at one by one. */
  #hasSmallRows(table: string): boolean {
    const columns = this.db.prepare('select name from pragma_table_info(?)').all(table);
    if (columns.some(({ name }) => String(name).toLowerCase() === '_rowid_')) return false;
    const bytes = columns.map(({ name }) => `ifnull(octet_length(${quoted(name)}), 0)`).join(' + ');
    const some = (order: string) =>
      `select * from (select ${bytes} as bytes from main.${quoted(table)} order by _rowid_ ${order} limit 32)`;
    const largest = this.db.prepare(`select max(bytes) as bytes from (${some('asc')} union all ${some('desc')})`).get();
    return Number(largest?.bytes ?? 0) <= smallRow;
  }

  close(): void {
    this.db.close();
  }
}

function quoted(name: unknown): string {
  return `"${String(name).replaceAll('"', '""')}"`;
}
