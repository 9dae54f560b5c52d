import type { Mapper, RequestEntityManager } from '../../../database/mapper.ts';
import type { DatabaseDeclaration } from '../../../declaration/types.ts';
import { type MigrationTools, migrationTable } from '../../migration-tools.ts';

/** The lock that a process also takes if it updates the schema at startup. */
const lock = "hashtext('declarest'), hashtext(current_schema())";

export const postgresMigrations: MigrationTools = Object.freeze<MigrationTools>({
  alterTable: null,
  renameKey: (mapper, from, to) => [`alter index ${quoted(mapper, `${from}_pkey`)} rename to ${quoted(mapper, `${to}_pkey`)};`],
  transaction,
  alone,
  async execute(em, sql) {
    await em.execute(sql);
  },
  createTable:
    `create table ${migrationTable} (id serial primary key, name varchar(255) not null unique, ` +
    'executed_at timestamptz not null default current_timestamp)',
  selectApplied:
    `select name, to_char(executed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as applied_at ` +
    `from ${migrationTable} order by id`,
  async tables(em) {
    const sql = 'select table_name as name from information_schema.tables where table_schema = current_schema()';
    return (await em.execute<{ name: string }[]>(sql)).map(({ name }) => name);
  },
});

function quoted(mapper: Mapper, name: string): string {
  return mapper.driver.getPlatform().quoteIdentifier(name).toString();
}

async function transaction<Result>(
  mapper: Mapper,
  onWait: () => void,
  work: (em: RequestEntityManager) => Promise<Result>,
): Promise<Result> {
  return mapper.em.fork().transactional(async (em) => {
    // neither the wait for another process nor a long migration may time out
    await em.execute('set local statement_timeout = 0');
    const [row] = await em.execute(`select pg_try_advisory_xact_lock(${lock}) as free`);
    if (!row?.free) {
      onWait();
      await em.execute(`select pg_advisory_xact_lock(${lock})`);
    }
    return work(em as RequestEntityManager);
  });
}

/** The server releases the lock with its connection, however the process ends. */
async function alone<Result>({ url, connectTimeout }: DatabaseDeclaration, work: () => Promise<Result>): Promise<Result> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeout });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`select pg_advisory_lock(${lock})`);
    return await work();
  } finally {
    await client.end();
  }
}
