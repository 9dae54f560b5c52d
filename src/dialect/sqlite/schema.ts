import type { Mapper } from '../../database/mapper.ts';
import { statementsOf } from '../../database/statements-of.ts';

/**
 * Whether the database is, word for word, what would be made for the models in a new one. SQLite keeps the statements that
 * made each table and index, so that this is told at once, where comparing columns takes several queries for each table.
 * False says nothing: the same can be written in other words.
 */
export async function isAsCreated(mapper: Mapper): Promise<boolean> {
  const wanted = new Set(statementsOf(await mapper.schema.getCreateSchemaSQL({ wrap: false })).map(asKept));
  if (wanted.size === 0) return false;
  const kept: { type: string; of: string; sql: string }[] = await mapper.em
    .fork()
    .execute('select type, tbl_name as "of", sql from sqlite_master where sql is not null');
  const found = kept.filter(({ sql }) => wanted.has(asKept(sql)));
  const tables = new Set(found.filter(({ type }) => type === 'table').map(({ of }) => of));
  // what somebody added to one of the tables is left to the comparison
  return found.length === wanted.size && kept.filter(({ of }) => tables.has(of)).length === found.length;
}

/** A statement as SQLite keeps it: its first words in capitals, and no semicolon. */
function asKept(sql: string): string {
  return sql.replace(/^create (?:unique )?(?:table|index) /i, (words) => words.toUpperCase()).replace(/;\s*$/, '');
}
