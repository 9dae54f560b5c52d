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

/** The database-specific part of migrations, loaded when first needed. */
export interface MigrationTools {
  /**
   * Changes a table.
   *
   * @param values Expressions by column, for rows without a value in a column that becomes required.
   */
  readonly alterTable:
    | ((mapper: Mapper, difference: TableDifference, values: ReadonlyMap<string, string>) => readonly string[])
    // null: MikroORM's own statements are sufficient
    | null;
  /** Renames the primary key after its table was renamed. */
  renameKey(mapper: Mapper, from: string, to: string): readonly string[];
  /**
   * Runs work in a transaction while no other process migrates.
   *
   * @param onWait Called once if another process is migrating.
   */
  transaction<Result>(mapper: Mapper, onWait: () => void, work: (em: RequestEntityManager) => Promise<Result>): Promise<Result>;
  /** Runs work outside of a transaction while no other process migrates; null if every statement can run in one. */
  readonly alone: (<Result>(database: DatabaseDeclaration, work: () => Promise<Result>) => Promise<Result>) | null;
  /** Runs one or several statements. */
  execute(em: RequestEntityManager, sql: string): Promise<void>;
  readonly createTable: string;
  /** The literal of a time for rows whose own value was dropped. */
  readonly neutralTime: string;
  /** Selects `name` and `applied_at` in the order of application. */
  readonly selectApplied: string;
  /** The names of all tables. */
  tables(em: RequestEntityManager): Promise<readonly string[]>;
}
