import type { Mapper, RequestEntityManager } from '../../../database/mapper.ts';
import { statementsOf } from '../../../database/statements-of.ts';
import type { SchemaTools } from '../../dialect.ts';
import { sqliteCatalogue, sqliteTables } from './catalogue.ts';
import { sqliteMisfit } from './column-types.ts';

export const sqliteSchema: SchemaTools = Object.freeze<SchemaTools>({
  change,
  isAsCreated,
  missingExtensions: async () => [],
  catalogue: sqliteCatalogue,
  tables: sqliteTables,
  misfit: sqliteMisfit,
  inventory: async (em) => (await import('./inventory.ts')).sqliteInventory(em),
  // SQLite has one writer at a time
  lockTable: async () => undefined,
  // the function in lower-case.ts handles all letters
  collation: async () => '',
});

/** Plans again if another process has changed the schema after the plan was made. */
async function change<Plan>(
  mapper: Mapper,
  plan: () => Promise<Plan>,
  apply: (em: RequestEntityManager, plan: Plan, isNew: boolean) => Promise<void>,
): Promise<void> {
  const versionIn = async (em: RequestEntityManager) => (await em.execute('pragma schema_version'))[0]?.schema_version;
  for (let done = false; !done; ) {
    const version = await versionIn(mapper.em.fork());
    const planned = await plan();
    done = await mapper.em.fork().transactional(async (em) => {
      if ((await versionIn(em)) !== version) return false;
      const tables = await em.execute("select 1 from sqlite_master where type = 'table' and name not like 'sqlite_%' limit 1");
      await apply(em, planned, tables.length === 0);
      return true;
    });
  }
}

/**
 * Whether the schema is, word for word, the one that would be created for the models in a new database. SQLite stores the
 * statement that created each table and index, so one query is enough. A comparison of columns takes several queries for each
 * table. False is inconclusive: the same schema can be written in other words.
 */
async function isAsCreated(mapper: Mapper): Promise<boolean> {
  const wanted = new Set(statementsOf(await mapper.schema.getCreateSchemaSQL({ wrap: false })).map(asStored));
  if (wanted.size === 0) return false;
  const stored: { type: string; of: string; sql: string }[] = await mapper.em
    .fork()
    .execute('select type, tbl_name as "of", sql from sqlite_master where sql is not null');
  const found = stored.filter(({ sql }) => wanted.has(asStored(sql)));
  const tables = new Set(found.filter(({ type }) => type === 'table').map(({ of }) => of));
  // additions to one of the tables are left to the comparison
  return found.length === wanted.size && stored.filter(({ of }) => tables.has(of)).length === found.length;
}

/** A statement as SQLite stores it: its first words in capitals, and without a semicolon. */
function asStored(sql: string): string {
  return sql.replace(/^create (?:unique )?(?:table|index) /i, (words) => words.toUpperCase()).replace(/;\s*$/, '');
}
