import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cursor, Cursors } from '../../database/cursor.ts';
import type { Statement } from '../../database/executor.ts';
import { ReadAheadCursor, type RowSource } from '../../database/read-ahead.ts';
import { type StatementWatch, timed } from '../../database/statement-watch.ts';
import { closedError } from '../../database/unavailable.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './prepared-reads.ts';
import { type Question, Reader } from './reader.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

type Ask = (question: Question) => Promise<unknown[]>;

/** Opens cursors on a SQLite file, each on a connection of its own in a thread of its own. */
export function sqliteCursors(
  dialect: Pick<SqliteFileDialect, 'file' | 'read' | 'threads'>,
  watch: StatementWatch = {},
): Cursors {
  let closed = false;
  return {
    async open(statement, parameters, size) {
      if (closed) throw closedError();
      const { file } = dialect;
      if (file === null) return inMemory(dialect, statement, parameters);
      // opens the file if it is not open yet
      await dialect.read(() => undefined);
      const open = { open: statement, parameters };
      try {
        return await inThread(dialect.threads as ReaderThreads, open, size, watch);
      } catch (error) {
        if (!(error instanceof NoThreads)) throw error;
        return inSlices(file, open, size);
      }
    },
    async close() {
      closed = true;
    },
  };
}

async function inThread(threads: ReaderThreads, open: Question, size: number, watch: StatementWatch): Promise<Cursor> {
  const thread = threads.take();
  const ask: Ask = (question) => timed(watch, async () => (await thread.ask(question)).rows);
  return opened(ask, open, size, () => threads.giveBack(thread));
}

/** The same in this thread, some rows at a time, if no other can be started. */
function inSlices(file: string, open: Question, size: number): Promise<Cursor> {
  const reader = new Reader(file);
  const ask: Ask = async (question) => {
    // others are served between any two slices
    await nextTurn();
    return reader.rows(question);
  };
  return opened(ask, open, size, () => reader.close());
}

async function opened(ask: Ask, open: Question, size: number, release: () => void): Promise<Cursor> {
  const source: RowSource = {
    fetch: (count) => ask({ next: count }) as Promise<unknown[][]>,
    rows: (statement, parameters) => ask({ statement, parameters, as: 'arrays' }) as Promise<unknown[][]>,
    async close() {
      // what was asked for ahead is a few rows, and comes before this
      await ask({ end: true }).catch(() => undefined);
      release();
    },
  };
  return ReadAheadCursor.open(source, ask(open), size);
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
