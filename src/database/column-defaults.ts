import { type EntityMetadata, type EntityProperty, raw } from '@mikro-orm/core';
import type { Mapper } from './mapper.ts';

type Row = Record<string, unknown>;

type InsertMany = (type: unknown, rows: readonly Row[], ...others: unknown[]) => Promise<unknown>;

/**
 * SQLite has no keyword for the default of a column among the values of a statement. If rows that are inserted together have different
 * columns, MikroORM writes null into those with a default in SQL. Here, they get the expression of the default.
 */
export function writeColumnDefaults({ driver }: Mapper): void {
  if (driver.getPlatform().usesDefaultKeyword()) return;
  const own = driver as unknown as { nativeInsertMany: InsertMany };
  const insertMany = own.nativeInsertMany.bind(driver);
  own.nativeInsertMany = (type, rows, ...others) => {
    const defaults = missingDefaults(driver.getMetadata().get(type as never) as EntityMetadata, rows);
    if (defaults.length === 0) return insertMany(type, rows, ...others);
    const filled = rows.map((row) => {
      const missing = defaults.filter(({ name }) => row[name] === undefined);
      return { ...row, ...Object.fromEntries(missing.map(({ defaultRaw, name }) => [name, raw(defaultRaw as string)])) };
    });
    return insertMany(type, filled, ...others);
  };
}

/** The properties with a default in SQL that only some of the rows have. */
function missingDefaults({ root }: EntityMetadata, rows: readonly Row[]): EntityProperty[] {
  if (rows.length < 2) return [];
  return (root.props as EntityProperty[]).filter(({ default: literal, defaultRaw, name, persist }) => {
    if (defaultRaw === undefined || literal !== undefined || persist === false) return false;
    const given = rows.filter((row) => row[name] !== undefined).length;
    return given > 0 && given < rows.length;
  });
}
