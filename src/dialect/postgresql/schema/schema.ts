import { setTimeout as sleep } from 'node:timers/promises';
import type { Mapper, RequestEntityManager } from '../../../database/mapper.ts';
import type { SchemaTools } from '../../dialect.ts';
import { postgresCatalogue } from './catalogue.ts';
import { postgresMisfit } from './column-types.ts';
import { lockInterval, tryLock } from './schema-lock.ts';

export const postgresSchema: SchemaTools = Object.freeze<SchemaTools>({
  change,
  // not worth a check: a comparison takes only one query
  isAsCreated: async () => false,
  missingExtensions,
  catalogue: postgresCatalogue,
  tables: (catalogue) => JSON.parse(catalogue),
  misfit: postgresMisfit,
  inventory: async (em) => (await import('./inventory.ts')).postgresInventory(em),
  // two processes that create one table or index conflict despite "if not exists"
  async lockTable(em, table) {
    await em.execute('select pg_advisory_xact_lock(hashtext(?), hashtext(current_schema()))', [table]);
  },
  collation,
});

async function collation(em: RequestEntityManager): Promise<string> {
  const [found] = await em.execute(
    "select lower('Ä') = 'ä' as own, exists (select 1 from pg_collation where collname = 'und-x-icu') as icu",
  );
  const { icu, own } = found as { icu: boolean; own: boolean };
  return own || !icu ? '' : ' collate "und-x-icu"';
}

/** Plans again if another process changes the schema, or has changed it after the plan was made. */
async function change<Plan>(
  mapper: Mapper,
  plan: () => Promise<Plan>,
  apply: (em: RequestEntityManager, plan: Plan, isNew: boolean) => Promise<void>,
): Promise<void> {
  for (;;) {
    const version = await versionIn(mapper.em.fork());
    const planned = await plan();
    const isDone = await mapper.em.fork().transactional(async (em) => {
      if (!(await tryLock(em)) || (await versionIn(em)) !== version) return false;
      const tables = await em.execute('select 1 from information_schema.tables where table_schema = current_schema() limit 1');
      await apply(em, planned, tables.length === 0);
      return true;
    });
    if (isDone) return;
    await sleep(lockInterval);
  }
}

/** A text that differs after each change of tables, columns, indexes and constraints. */
async function versionIn(em: RequestEntityManager): Promise<unknown> {
  const [row] = await em.execute(
    "select string_agg(c.oid::text || '.' || c.xmin::text, ',' order by c.oid) as version from pg_class c " +
      "join pg_namespace n on n.oid = c.relnamespace where n.nspname !~ '^(pg_|information_schema$)'",
  );
  return row?.version;
}

async function missingExtensions(em: RequestEntityManager, extensions: readonly string[]): Promise<readonly string[]> {
  if (extensions.length === 0) return [];
  const installed = (await em.execute('select extname from pg_extension')).map((row) => (row as { extname: string }).extname);
  return extensions.filter((name) => !installed.includes(name)).map((name) => `create extension if not exists ${name};`);
}
