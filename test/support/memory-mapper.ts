import type { DatabaseSync } from 'node:sqlite';
import type { EntityMetadata } from '@mikro-orm/core';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { Mapper } from '../../src/database/mapper.ts';
import type { Step, Writer } from '../../src/database/writer.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { dialectOf, type SqlSyntax, setDialect } from '../../src/dialect/dialect.ts';

/** A mapper with a new SQLite database in memory, without tables. */
export function memoryMapper(...entities: readonly unknown[]): Promise<Mapper> {
  const database = { url: 'sqlite::memory:', statementTimeout: 0 } as DatabaseDeclaration;
  return createMapper(database, { entities: entities as never, directory: '.' });
}

/** The metadata of a model by the name of its class. */
export function metaNamed(mapper: Mapper, name: string): EntityMetadata {
  return [...mapper.getMetadata().getAll().values()].find(({ className }) => className === name) as EntityMetadata;
}

/** Runs work while the database has other pieces of SQL, such as locks, which SQLite does not need. */
export async function withSyntax<Result>(
  mapper: Mapper,
  syntax: Partial<SqlSyntax>,
  work: () => Promise<Result>,
): Promise<Result> {
  const platform = mapper.driver.getPlatform();
  const dialect = dialectOf(mapper);
  setDialect(platform, { ...dialect, sql: { ...dialect.sql, ...syntax } });
  try {
    return await work();
  } finally {
    setDialect(platform, dialect);
  }
}

/** A writer on a database in memory: all steps or none. `note` is called with the steps of each change. */
export function memoryWriter(database: DatabaseSync, note: (steps: readonly Step[]) => void = () => undefined): Writer {
  const run = (steps: readonly Step[]): unknown[][] | null => {
    let rows: unknown[][] = [];
    for (const { mayBeEmpty, parameters, statement } of steps) {
      const given = typeof parameters === 'function' ? parameters(rows) : parameters;
      rows = database
        .prepare(statement.text)
        .all(...(given as never[]))
        .map((row) => Object.values(row));
      if (rows.length === 0 && !mayBeEmpty) return null;
    }
    return rows;
  };
  const writer: Pick<Writer, 'change'> = {
    async change(steps) {
      note(steps);
      database.exec('begin');
      try {
        const rows = run(steps);
        database.exec(rows ? 'commit' : 'rollback');
        return rows ?? [];
      } catch (error) {
        database.exec('rollback');
        throw error;
      }
    },
  };
  return writer as Writer;
}
