import type { DatabaseSync } from 'node:sqlite';
import { openToRead } from './open-file.ts';
import type { Stopwatch } from './reads/stopwatch.ts';

/** SQL function that is called for the rows that a statement reads. */
export const rowFunction = 'declarest_row';

/** A statement was stopped because it exceeded its time limit. */
export class Stopped extends Error {}

/** Bytes up to which a row is small. A statement may read several small rows before it can be stopped. */
const smallRow = 2048;

/**
 * Is true for 14 of 16 rows. The second part is for row ids with gaps: if they are 16 or 100 apart, the first part may be true
 * for all of them. The expression takes a fraction of the time of a call.
 */
export const isSkipped = '((_rowid_ & 31) and ((_rowid_ & 65535) * 40503 >> 12 & 15))';

/**
 * A connection for reading on which a statement ends after a given time. Node has no way to interrupt SQLite, but a function that
 * SQLite calls can throw. So each table is hidden behind a view of its name, which calls a function and selects the same rows.
 * SQLite merges such a view into the statement, with the same plan. A call costs a few tenths of a microsecond, more than the
 * rest of the work on a small row. So in tables with small rows the function is called for one row of about eleven.
 */
export class StoppableConnection {
  readonly db: DatabaseSync;
  #deadline = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;
  #stopwatch: Stopwatch | undefined;
  #version: unknown;

  constructor(file: string) {
    this.db = openToRead(file);
    // not deterministic, or SQLite would call it once
    this.db.function(rowFunction, () => {
      if (performance.now() > this.#deadline) this.#stopIfCostly();
      return 1;
    });
  }

  /** Runs statements that are stopped after `limit` milliseconds. With a stopwatch, the limit applies to their cost instead. */
  within<Result>(limit: number, run: () => Result, stopwatch?: Stopwatch): Result {
    this.#stopwatch = stopwatch;
    this.#limit = limit;
    this.#deadline = performance.now() + limit;
    try {
      return run();
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
    }
  }

  #stopIfCostly(): void {
    if (!this.#stopwatch || this.#stopwatch.cost() > this.#limit) throw new Stopped('the statement was stopped');
    this.#deadline = performance.now() + 1;
  }

  /** Hides the tables that exist now. Called before a statement is prepared. */
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

  /**
   * Whether the first and the last rows of a table are small. Large rows take long, so the function is called for each of them.
   */
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
