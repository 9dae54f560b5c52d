import { dialectOf } from '../dialect/dialect.ts';
import type { Cursor, Cursors } from './cursor.ts';
import type { Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';

/** What opens the cursors of an application's exports. It is made, and its driver loaded, when the first of them is asked for. */
export function createCursors(mapper: Mapper, onStatement: OnStatement | undefined, watch: StatementWatch = {}): Cursors {
  let made: Promise<Cursors> | null = null;
  return {
    async open(statement, parameters, size) {
      made ??= dialectOf(mapper).connections.cursors(watch);
      onStatement?.(statement.text, parameters);
      const cursors = await made;
      const cursor = await awaited(watch, statement.text, () => cursors.open(statement, parameters, size));
      return onStatement ? heard(cursor, onStatement) : cursor;
    },
    close: async () => (await made)?.close(),
  };
}

function heard(cursor: Cursor, onStatement: OnStatement): Cursor {
  return {
    next: (size) => cursor.next(size),
    rows(statement, parameters) {
      onStatement(statement.text, parameters);
      return cursor.rows(statement, parameters);
    },
    close: () => cursor.close(),
  };
}
