import type { DatabaseDeclaration } from '../declaration/types.ts';
import type { SqliteFileDialect } from '../dialect/sqlite/kysely-dialect.ts';
import type { Cursor, Cursors } from './cursor.ts';
import { databaseKindOf, type Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';

/** What opens the cursors of an application's exports. It is made, and its driver loaded, when the first of them is asked for. */
export function createCursors(
  mapper: Mapper,
  database: DatabaseDeclaration,
  onStatement: OnStatement | undefined,
  watch: StatementWatch = {},
): Cursors {
  let made: Promise<Cursors> | null = null;
  return {
    async open(statement, parameters, size) {
      made ??= cursorsOf(mapper, database, watch);
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

async function cursorsOf(mapper: Mapper, database: DatabaseDeclaration, watch: StatementWatch): Promise<Cursors> {
  if (databaseKindOf(mapper) === 'sqlite') {
    const { sqliteCursors } = await import('../dialect/sqlite/cursors.ts');
    return sqliteCursors(mapper.config.get('driverOptions') as unknown as SqliteFileDialect, watch);
  }
  const { postgresCursors } = await import('../dialect/postgresql/cursors.ts');
  return postgresCursors(database, watch);
}
