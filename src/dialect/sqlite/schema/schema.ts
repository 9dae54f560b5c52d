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
  // there is one writer at a time
  lockTable: async () => undefined,
  // our own function knows the case of all letters
  collation: async () => '',
});

/** Another process may change the schema after it was looked at; then it is looked at once more. */
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
 * Whether the database is, word for word, what would be made for the models in a new one. SQLite keeps the statements that
 * made each table and index, so one query is enough, while a comparison of columns takes several queries for each table.
 * False says nothing: the same can be written in other words.
 */
async function isAsCreated(mapper: Mapper): Promise<boolean> {
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
