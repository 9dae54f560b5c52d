import type { DatabaseDeclaration } from '../declaration/types.ts';
import type { SqliteFileDialect } from '../dialect/sqlite/kysely-dialect.ts';
import { coalescing, type Executor } from './executor.ts';
import { databaseKindOf, type Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';

/** What sends the compiled statements of an application; only the driver in use is loaded. */
export async function createExecutor(
  mapper: Mapper,
  database: DatabaseDeclaration,
  onStatement: OnStatement | undefined,
  watch: StatementWatch = {},
): Promise<Executor> {
  const executor = await executorOf(mapper, database, watch);
  if (!onStatement && !watch.waits) return executor;
  return {
    ...executor,
    rows(statement, parameters) {
      onStatement?.(statement.text, parameters);
      return awaited(watch, statement.text, () => executor.rows(statement, parameters));
    },
  };
}

async function executorOf(mapper: Mapper, database: DatabaseDeclaration, watch: StatementWatch): Promise<Executor> {
  if (databaseKindOf(mapper) === 'sqlite') {
    const { sqliteExecutor } = await import('../dialect/sqlite/executor.ts');
    const { keepingCounts } = await import('../dialect/sqlite/kept-counts.ts');
    const dialect = mapper.config.get('driverOptions') as unknown as SqliteFileDialect;
    // a database in memory has one connection, whose own commits SQLite does not tell it of
    return dialect.threads ? keepingCounts(sqliteExecutor(dialect, watch), dialect) : sqliteExecutor(dialect, watch);
  }
  const { postgresExecutor } = await import('../dialect/postgresql/executor.ts');
  return coalescing(postgresExecutor(database, watch));
}
