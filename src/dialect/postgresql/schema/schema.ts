import type { RequestEntityManager } from '../../../database/mapper.ts';
import type { DatabaseDeclaration } from '../../../declaration/types.ts';
import type { SchemaTools } from '../../dialect.ts';
import { postgresCatalogue } from './catalogue.ts';
import { postgresMisfit } from './column-types.ts';

export function postgresSchema(database: DatabaseDeclaration): SchemaTools {
  return Object.freeze<SchemaTools>({
    change: (mapper, plan, apply) => alone(database, () => change(mapper, plan, apply)),
    // a comparison takes one query
    isAsCreated: async () => false,
    missingExtensions,
    catalogue: postgresCatalogue,
    tables: (catalogue) => JSON.parse(catalogue),
    misfit: postgresMisfit,
    // two processes that create one table or index conflict in spite of "if not exists"
    async lockTable(em, table) {
      await em.execute('select pg_advisory_xact_lock(hashtext(?), hashtext(current_schema()))', [table]);
    },
    collation,
  });
}

async function collation(em: RequestEntityManager): Promise<string> {
  const [found] = await em.execute(
    "select lower('Ä') = 'ä' as own, exists (select 1 from pg_collation where collname = 'und-x-icu') as icu",
  );
  const { icu, own } = found as { icu: boolean; own: boolean };
  return own || !icu ? '' : ' collate "und-x-icu"';
}

type Change = SchemaTools['change'];

const change: Change = async (mapper, plan, apply) => {
  const planned = await plan();
  await mapper.em.fork().transactional(async (em) => {
    const tables = await em.execute('select 1 from information_schema.tables where table_schema = current_schema() limit 1');
    await apply(em, planned, tables.length === 0);
  });
};

async function missingExtensions(em: RequestEntityManager, extensions: readonly string[]): Promise<readonly string[]> {
  if (extensions.length === 0) return [];
  const installed = (await em.execute('select extname from pg_extension')).map((row) => (row as { extname: string }).extname);
  return extensions.filter((name) => !installed.includes(name)).map((name) => `create extension if not exists ${name};`);
}

/** Processes that start together wait for one another. The lock goes with its connection, however the process ends. */
async function alone({ url, connectTimeout }: DatabaseDeclaration, work: () => Promise<void>): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeout });
  // a connection that breaks takes its lock with it, and what is done under it fails by itself
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('declarest'), hashtext(current_schema()))");
    await work();
  } finally {
    await client.end();
  }
}
