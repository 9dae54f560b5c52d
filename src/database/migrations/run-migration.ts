import type { Migration } from '@mikro-orm/migrations';
import type { MigrationTools } from '../../dialect/migration-tools.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { loadMigration, type MigrationFile } from './folder.ts';

/** A migration failed, at one of its statements or in its own code. */
export class FailedMigration extends Error {
  readonly file: MigrationFile;
  /** Null if its code failed. */
  readonly statement: string | null;

  constructor(file: MigrationFile, statement: string | null, cause: unknown) {
    super(`${file.name} failed: ${messageOf(cause)}`, { cause });
    this.name = 'FailedMigration';
    this.file = file;
    this.statement = statement;
  }
}

function messageOf(error: unknown): string {
  const { message = String(error) } = (error ?? {}) as { message?: string };
  // MikroORM puts the statement before the message of the driver
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : message;
  return (message.includes(cause) ? cause : message).replace(/\s*\n\s*/g, ' ');
}

/** The migration of a file, not run yet. */
export async function openMigration(mapper: Mapper, file: MigrationFile): Promise<Migration> {
  const MigrationClass = await loadMigration(file);
  return new MigrationClass(mapper.driver as never, mapper.config as never);
}

/** Whether `up` is as `create --empty` wrote it. Counting added statements is not enough: code can execute some itself. */
export function isEmptyMigration({ up }: Migration): boolean {
  const text = up.toString().replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  return /\)\s*\{\s*\}$/.test(text);
}

/** Runs the statements of a migration, and returns how many there were. */
export async function runMigration(
  migration: Migration,
  file: MigrationFile,
  how: 'up' | 'down',
  em: RequestEntityManager,
  tools: MigrationTools,
): Promise<number> {
  const queries = await statementsIn(migration, file, how, em);
  for (const query of queries) {
    try {
      if (typeof query === 'string') await tools.execute(em, query);
      else await em.getDriver().execute(query as never, undefined, 'all', em.getTransactionContext());
    } catch (error) {
      throw new FailedMigration(file, String(query), error);
    }
  }
  return queries.length;
}

/** The statements that a migration adds by `addSql`. Statements that it executes itself have already run then. */
export async function statementsIn(
  migration: Migration,
  file: MigrationFile,
  how: 'up' | 'down',
  em: RequestEntityManager,
): Promise<unknown[]> {
  migration.reset();
  const context = em.getTransactionContext();
  if (context) migration.setTransactionContext(context);
  try {
    await migration[how]();
  } catch (error) {
    throw new FailedMigration(file, null, error);
  }
  return [...migration.getQueries()];
}
