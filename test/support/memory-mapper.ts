import type { EntityMetadata } from '@mikro-orm/core';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { Mapper } from '../../src/database/mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { dialectOf, setDialect } from '../../src/dialect/dialect.ts';

/** A mapper with a new SQLite database in memory, without tables. */
export function memoryMapper(...entities: readonly unknown[]): Promise<Mapper> {
  const database = { url: 'sqlite::memory:', statementTimeout: 0 } as DatabaseDeclaration;
  return createMapper(database, { entities: entities as never, directory: '.' });
}

/** The metadata of a model by the name of its class. */
export function metaNamed(mapper: Mapper, name: string): EntityMetadata {
  return [...mapper.getMetadata().getAll().values()].find(({ className }) => className === name) as EntityMetadata;
}

/** Counts the statements that lock rows on databases with more than one writer: SQLite has no such locks. */
export function countRowLocks(mapper: Mapper): { count: number } {
  const platform = mapper.driver.getPlatform();
  const dialect = dialectOf(mapper);
  const locks = { count: 0 };
  const rowLock = () => {
    locks.count++;
    return '';
  };
  setDialect(platform, { ...dialect, sql: { ...dialect.sql, rowLock } });
  return locks;
}
