import type { DatabaseSync } from 'node:sqlite';
import { openToRead } from './open-file.ts';

/** Called for each row that a statement looks at. */
export const rowFunction = 'declarest_row';

/** A statement was stopped because it took longer than it was given. */
export class Stopped extends Error {}

/**
 * A connection that reads, on which a statement ends after a given time. SQLite in Node cannot be told to stop, but a function that it
 * calls can throw. So each table is hidden behind a view of its name, which calls a function for each row and selects the same rows;
 * SQLite merges such a view into the statement, with the same plan. A call costs about a tenth of a microsecond.
 */
export class StoppableConnection {
  readonly db: DatabaseSync;
  #until = Number.POSITIVE_INFINITY;
  #version: unknown;

  constructor(file: string) {
    this.db = openToRead(file);
    // not deterministic, or SQLite would call it once
    this.db.function(rowFunction, () => {
      if (performance.now() > this.#until) throw new Stopped('the statement was stopped');
      return 1;
    });
  }

  /** Runs statements that end after so many milliseconds at the latest. */
  within<Result>(limit: number, run: () => Result): Result {
    this.#until = performance.now() + limit;
    try {
      return run();
    } finally {
      this.#until = Number.POSITIVE_INFINITY;
    }
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
      "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    );
    for (const { name } of tables.all())
      yield `create temp view ${quoted(name)} as select * from main.${quoted(name)} where ${rowFunction}()`;
  }

  close(): void {
    this.db.close();
  }
}

function quoted(name: unknown): string {
  return `"${String(name).replaceAll('"', '""')}"`;
}
