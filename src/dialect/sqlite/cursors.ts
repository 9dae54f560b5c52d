import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Cursor, Cursors } from '../../database/cursor.ts';
import type { Statement } from '../../database/executor.ts';
import { type StatementWatch, timedAsync } from '../../database/statement-watch.ts';
import { closedError, lostError } from '../../database/unavailable.ts';
import type { CursorAnswer, CursorQuestion, Opened } from './cursor-thread.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './prepared-reads.ts';
import { StepReader } from './step-reader.ts';

/** Threads that are kept for the next cursor. */
const keptThreads = 2;

/** Opens cursors on a SQLite file, each on a connection of its own in a thread of its own. */
export function sqliteCursors(dialect: Pick<SqliteFileDialect, 'read' | 'source'>, watch: StatementWatch = {}): Cursors {
  const idle: CursorThread[] = [];
  const busy = new Set<CursorThread>();
  let closed = false;
  let threadsArePossible = true;

  function release(thread: CursorThread, reusable: boolean): void {
    busy.delete(thread);
    if (reusable && !closed && idle.length < keptThreads) idle.push(thread);
    else thread.end();
  }

  async function inThread(data: { file: string; busyTimeout: number }): Promise<RowSource | null> {
    const thread = idle.pop() ?? new CursorThread(data);
    busy.add(thread);
    if (await thread.opened) {
      return {
        ask: (question) => timedAsync(watch, () => thread.ask(question)),
        release: (reusable) => release(thread, reusable),
      };
    }
    busy.delete(thread);
    threadsArePossible = false;
    return null;
  }

  return {
    async open(statement, parameters, size) {
      if (closed) throw closedError();
      const data = dialect.source;
      if (!data) return inMemory(dialect, statement, parameters);
      const asked = (threadsArePossible ? await inThread(data) : null) ?? inSlices(data);
      const cursor = new SourceCursor(asked, size);
      await cursor.open(statement, parameters);
      return cursor;
    },
    async close() {
      closed = true;
      await Promise.all([...idle.splice(0), ...busy].map((thread) => thread.end()));
    },
  };
}

/** Who steps through the rows, be it another thread or this one. */
interface RowSource {
  ask(question: NonNullable<CursorQuestion>): Promise<unknown[][]>;
  /** Whether everything asked for was answered, so that another cursor can follow. */
  release(reusable: boolean): void;
}

class SourceCursor implements Cursor {
  readonly #asked: RowSource;
  readonly #size: number;
  /** Rows that were asked for before anybody wants them. */
  #ahead: Promise<unknown[][]> | null = null;
  #expected = 0;
  #isOver = false;
  #isClosed = false;

  constructor(asked: RowSource, size: number) {
    this.#asked = asked;
    this.#size = size;
  }

  async open(statement: Statement, parameters: readonly unknown[]): Promise<void> {
    try {
      await this.#asked.ask({ open: statement, parameters });
      this.#ahead = this.#fetch(this.#size);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async next(size: number): Promise<unknown[][]> {
    if (this.#isOver) return [];
    const expected = this.#expected;
    const rows = await (this.#ahead as Promise<unknown[][]>);
    if (rows.length < expected) this.#isOver = true;
    this.#ahead = this.#isOver || this.#isClosed ? null : this.#fetch(size);
    return rows;
  }

  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return this.#asked.ask({ rows: statement, parameters });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      // what is asked for ahead is a few rows, and the thread goes on with this after them
      await this.#asked.ask({ end: true });
      this.#asked.release(true);
    } catch {
      this.#asked.release(false);
    }
  }

  #fetch(size: number): Promise<unknown[][]> {
    this.#expected = size;
    const rows = this.#asked.ask({ next: size });
    // whoever asks for them is told what became of them
    rows.catch(() => undefined);
    return rows;
  }
}

/** One thread, which answers questions in the order in which they were asked. */
class CursorThread {
  readonly opened: Promise<boolean>;
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  readonly #waiting: { resolve: (rows: unknown[][]) => void; reject: (error: Error) => void }[] = [];
  #hasEnded = false;

  constructor(data: { readonly file: string; readonly busyTimeout: number }) {
    this.#worker = new Worker(new URL(`./cursor-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: data,
      execArgv: [],
    });
    let failure: unknown;
    this.opened = new Promise((resolve) => {
      this.#worker.on('message', (answer: CursorAnswer | Opened) => {
        if (answer === 'opened') resolve(true);
        else this.#answer(answer);
      });
      this.#worker.once('exit', () => resolve(false));
    });
    this.#worker.on('error', (error) => {
      failure = error;
    });
    this.#ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.once('exit', () => {
      this.#hasEnded = true;
      for (const { reject } of this.#waiting.splice(0)) reject(lostError(failure));
    });
  }

  ask(question: NonNullable<CursorQuestion>): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) {
        reject(lostError());
        return;
      }
      // a thread that has nothing to do does not keep the process alive
      this.#worker.ref();
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage(question);
    });
  }

  async end(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage(null);
    await this.#ended;
  }

  #answer(answer: CursorAnswer): void {
    const asker = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    if ('rows' in answer) asker?.resolve(answer.rows);
    else asker?.reject(Object.assign(new Error(answer.error.message), answer.error.properties));
  }
}

/** The same in this thread, some rows at a time, where no other can be had. */
function inSlices({ file, busyTimeout }: { readonly file: string; readonly busyTimeout: number }): RowSource {
  const reader = new StepReader(file, busyTimeout);
  return {
    async ask(question) {
      // others are served between any two slices
      await new Promise((resolve) => setImmediate(resolve));
      if ('next' in question) return reader.next(question.next);
      if ('rows' in question) return reader.rows(question.rows, question.parameters);
      if ('open' in question) {
        reader.begin();
        reader.open(question.open, question.parameters);
      } else reader.end();
      return [];
    },
    release: () => reader.close(),
  };
}

/** A database in memory has one connection, which cannot be kept from the others: all rows are read when it is opened. */
async function inMemory(
  dialect: Pick<SqliteFileDialect, 'read'>,
  statement: Statement,
  parameters: readonly unknown[],
): Promise<Cursor> {
  const read = (wanted: Statement, values: readonly unknown[]) =>
    dialect.read((db) => new PreparedReads(db).rows(wanted, values));
  const all = await read(statement, parameters);
  let at = 0;
  return {
    async next(size) {
      const rows = all.slice(at, at + size);
      at += size;
      return rows;
    },
    rows: read,
    async close() {
      all.length = 0;
    },
  };
}
