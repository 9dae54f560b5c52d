import type { Cursor, Cursors } from '../../database/cursor.ts';
import type { Statement } from '../../database/executor.ts';
import { ReadAheadCursor, type RowSource } from '../../database/read-ahead.ts';
import { type StatementWatch, timed } from '../../database/statement-watch.ts';
import { closedError } from '../../database/unavailable.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './reads/prepared-reads.ts';
import type { Question } from './reads/reader.ts';
import { beginSnapshot, type SnapshotSource } from './reads/snapshot.ts';

/** Opens cursors on a SQLite file, each in a snapshot of its own. */
export function sqliteCursors(dialect: SnapshotSource & Pick<SqliteFileDialect, 'read'>, watch: StatementWatch = {}): Cursors {
  let closed = false;
  return {
    async open(statement, parameters, size) {
      if (closed) throw closedError();
      if (dialect.file === null) return inMemory(dialect, statement, parameters);
      const snapshot = await beginSnapshot(dialect);
      const ask = (question: Question) => timed(watch, () => snapshot.ask(question)) as Promise<unknown[][]>;
      let fetched = 0;
      const source: RowSource = {
        async fetch(count) {
          const rows = await ask({ next: count });
          fetched = rows.length;
          return rows;
        },
        // fewer rows than requested may be all that fit into a chunk: only an empty result is the end
        wasCut: () => fetched > 0,
        rows: (wanted, values) => ask({ statement: wanted, parameters: values, as: 'arrays' }),
        // only a few rows were requested ahead, and they are read before this
        close: () => snapshot.close(),
      };
      return ReadAheadCursor.open(source, ask({ open: { statement, parameters, as: 'arrays' } }), size);
    },
    async close() {
      closed = true;
    },
  };
}

/** A database in memory has one connection, which a cursor cannot block: all rows are read when the cursor is opened. */
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
