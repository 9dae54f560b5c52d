import type { RequestEntityManager } from '../../../database/mapper.ts';
import type { DatabaseDeclaration } from '../../../declaration/types.ts';
import type { SchemaTools } from '../../dialect.ts';
import { postgresCatalogue } from './catalogue.ts';
import { postgresMisfit } from './column-types.ts';

export function postgresSchema(database: DatabaseDeclaration): SchemaTools {
  return Object.freeze<SchemaTools>({
    change: (mapper, plan, apply) => withSchemaLock(database, () => change(mapper, plan, apply)),
    // not worth a check: a comparison takes only one query
    isAsCreated: async () => false,
    missingExtensions,
    catalogue: postgresCatalogue,
    tables: (catalogue) => JSON.parse(catalogue),
    misfit: postgresMisfit,
    // two processes that create one table or index conflict despite "if not exists"
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

/**
 * Makes processes that start together wait for each other. The server releases the lock with its connection, however the process
 * ends.
 */
async function withSchemaLock(
  { url, connectTimeout, driverOptions }: DatabaseDeclaration,
  work: () => Promise<void>,
): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ ...driverOptions, connectionString: url, connectionTimeoutMillis: connectTimeout });
  // a broken connection releases its lock, and the work under the lock fails by itself
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('declarest'), hashtext(current_schema()))");
    await work();
  } finally {
    await client.end();
  }
}
