import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { coalesced, type Statement } from '../../database/executor.ts';
import { StatementCosts } from '../../database/statement-costs.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { PreparedReads, type RowForm } from './prepared-reads.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

/** Milliseconds for which a read may hold up everything else; what takes longer is read in a thread. */
const longest = 10;

/** Bytes of a database that is read through in about that time. */
const small = 16 * 1024 * 1024;

/** Reads on a connection of this thread, or in another thread if the statement takes long. */
export class RoutedReads {
  readonly db: DatabaseSync;
  readonly #reads: PreparedReads;
  readonly #form: RowForm;
  readonly #threads: ReaderThreads;
  readonly #watch: StatementWatch;
  readonly #size: StatementSync;
  readonly #costs = new StatementCosts();
  readonly #inThread: (statement: Statement, parameters: readonly unknown[], kind: Statement) => Promise<unknown[]>;

  constructor(db: DatabaseSync, threads: ReaderThreads, form: RowForm, watch: StatementWatch = {}) {
    this.db = db;
    this.#reads = new PreparedReads(db, form, watch);
    this.#form = form;
    this.#threads = threads;
    this.#watch = watch;
    this.#size = db.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size');
    const read = this.#elsewhere.bind(this);
    // the mapper may change the objects that it gets
    this.#inThread = form === 'arrays' ? coalesced((...asked) => read(...asked, asked[0]) as Promise<unknown[][]>) : read;
  }

  /** @param kind Stands for all statements that cost about the same. */
  rows(statement: Statement, parameters: readonly unknown[], kind = statement): unknown[] | Promise<unknown[]> {
    const cost = this.#costs.of(kind, parameters);
    const isLong = cost === undefined ? this.#mayTakeLong(statement) : cost > longest;
    return isLong ? this.#inThread(statement, parameters, kind) : this.#here(statement, parameters, kind);
  }

  #here(statement: Statement, parameters: readonly unknown[], kind: Statement): unknown[] {
    const start = performance.now();
    const rows = this.#reads.rows(statement, parameters);
    this.#costs.note(kind, parameters, performance.now() - start);
    return rows;
  }

  async #elsewhere(statement: Statement, parameters: readonly unknown[], kind: Statement): Promise<unknown[]> {
    const start = performance.now();
    try {
      const { rows, took } = await this.#threads.rows(statement, parameters, this.#form);
      this.#costs.note(kind, parameters, took);
      this.#watch.answered?.(took, false);
      return rows;
    } catch (error) {
      if (error instanceof NoThreads) return this.#here(statement, parameters, kind);
      this.#watch.answered?.(performance.now() - start, true);
      throw error;
    }
  }

  #mayTakeLong({ text }: Statement): boolean {
    return Number(this.#size.get()?.bytes) >= small && !looksUp(this.db, text);
  }
}

/** Whether every table of a statement is looked into by a unique key, and so for one row. */
function looksUp(db: DatabaseSync, text: string): boolean {
  const steps = db.prepare(`explain query plan ${text}`).all();
  return steps.every(({ detail }) =>
    /^SEARCH .* USING (INTEGER PRIMARY KEY \(rowid=|INDEX sqlite_autoindex_)/.test(String(detail)),
  );
}
