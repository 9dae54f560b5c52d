import type { TableDifference } from '@mikro-orm/sql';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { DatabaseDeclaration } from '../declaration/types.ts';

/** A migration that is recorded in the database. */
export interface AppliedMigration {
  readonly name: string;
  /** In ISO 8601. */
  readonly appliedAt: string;
}

/** The table in which MikroORM records migrations. */
export const migrationTable = 'mikro_orm_migrations';

/** What migrations need of a database, loaded with the first one. */
export interface MigrationTools {
  /**
   * Changes a table.
   *
   * @param values Expressions for columns that are required from now on, in rows that have no value.
   */
  readonly alterTable:
    | ((mapper: Mapper, difference: TableDifference, values: ReadonlyMap<string, string>) => readonly string[])
    // the statements of MikroORM do
    | null;
  /** Renames what is named after a table, after the table itself was renamed. */
  renameKey(mapper: Mapper, from: string, to: string): readonly string[];
  /**
   * Runs work in a transaction in which this process alone migrates.
   *
   * @param onWait Called once if another process is migrating.
   */
  transaction<Result>(mapper: Mapper, onWait: () => void, work: (em: RequestEntityManager) => Promise<Result>): Promise<Result>;
  /** Runs work outside of a transaction while this process alone migrates; null if every statement can be in one. */
  readonly alone: (<Result>(database: DatabaseDeclaration, work: () => Promise<Result>) => Promise<Result>) | null;
  /** Runs one or several statements. */
  execute(em: RequestEntityManager, sql: string): Promise<void>;
  readonly createTable: string;
  /** Selects `name` and `applied_at` in the order of application. */
  readonly selectApplied: string;
  /** The names of all tables. */
  tables(em: RequestEntityManager): Promise<readonly string[]>;
}
