import type { DatabaseDeclaration } from '../declaration/types.ts';
import { databaseKindOf, type Mapper } from './mapper.ts';
import type { SqliteFileDialect } from './sqlite-dialect.ts';
import type { Writer } from './writer.ts';

/** What sends the compiled changes of an application; only the driver in use is loaded. */
export async function createWriter(
  mapper: Mapper,
  database: DatabaseDeclaration,
  onStatement: ((sql: string) => void) | undefined,
): Promise<Writer> {
  const writer = await writerOf(mapper, database);
  if (!onStatement) return writer;
  return {
    ...writer,
    change(steps) {
      for (const { statement } of steps) onStatement(statement.text);
      return writer.change(steps);
    },
    transaction: (work) =>
      writer.transaction(async (send) => {
        const done = await work((statement, parameters) => {
          onStatement(statement.text);
          return send(statement, parameters);
        });
        for (const { statement } of done.changes) onStatement(statement.text);
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
