import type { DatabaseDeclaration } from '../declaration/types.ts';
import { databaseKindOf, type Mapper } from './mapper.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';
import type { OnStatement } from './statements-of.ts';
import type { Writer } from './writer.ts';

/** What sends the compiled changes of an application; only the driver in use is loaded. */
export async function createWriter(
  mapper: Mapper,
  database: DatabaseDeclaration,
  onStatement: OnStatement | undefined,
): Promise<Writer> {
  const writer = await writerOf(mapper, database);
  if (!onStatement) return writer;
  return {
    ...writer,
    change(steps) {
      // what depends on the step before is known to the database only
      for (const { statement, parameters } of steps)
        onStatement(statement.text, typeof parameters === 'function' ? [] : parameters);
      return writer.change(steps);
    },
    transaction: (work) =>
      writer.transaction(async (send) => {
        const done = await work((statement, parameters) => {
          onStatement(statement.text, parameters);
          return send(statement, parameters);
        });
        for (const { statement, parameters } of done.changes) onStatement(statement.text, parameters);
        return done;
      }),
  };
}

async function writerOf(mapper: Mapper, database: DatabaseDeclaration): Promise<Writer> {
  if (databaseKindOf(mapper) === 'sqlite') {
    const { sqliteWriter } = await import('./sqlite-writer.ts');
    return sqliteWriter(mapper.config.get('driverOptions') as unknown as SqliteFileDialect);
  }
  const { postgresWriter } = await import('./postgres-writer.ts');
  return postgresWriter(database);
}
