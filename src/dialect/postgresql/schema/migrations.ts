import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Mapper, RequestEntityManager } from '../../../database/mapper.ts';
import type { DatabaseDeclaration } from '../../../declaration/types.ts';
import { type MigrationTools, migrationTable } from '../../migration-tools.ts';
import { declaredSettings, setForTransaction, withoutOptions } from '../settings.ts';
import { lockInterval, tryLock, tryLockSql } from './schema-lock.ts';

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
  neutralTime: "'1970-01-01T00:00:00Z'",
  async tables(em) {
    const sql = 'select table_name as name from information_schema.tables where table_schema = current_schema()';
    return (await em.execute<{ name: string }[]>(sql)).map(({ name }) => name);
  },
});

function quoted(mapper: Mapper, name: string): string {
  return mapper.driver.getPlatform().quoteIdentifier(name).toString();
}

/** The result of a transaction that could not lock the schema, because another process has the lock. */
const locked = Symbol('locked');

async function transaction<Result>(
  mapper: Mapper,
  onWait: () => void,
  work: (em: RequestEntityManager) => Promise<Result>,
): Promise<Result> {
  const attempt = () =>
    mapper.em.fork().transactional(async (em) => {
      // a long migration must not time out
      await em.execute('set local statement_timeout = 0');
      return (await tryLock(em as RequestEntityManager)) ? work(em as RequestEntityManager) : locked;
    });
  for (let attempts = 1; ; attempts++) {
    const result = await attempt();
    if (result !== locked) return result;
    if (attempts === 1) onWait();
    await sleep(lockInterval);
  }
}

/** The server releases the lock with its connection, however the process ends. */
async function alone<Result>(database: DatabaseDeclaration, work: () => Promise<Result>): Promise<Result> {
  const { connectTimeout, url } = database;
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: withoutOptions(url), connectionTimeoutMillis: connectTimeout });
  client.on('error', () => undefined);
  await client.connect();
  try {
    while (!(await lockBy(client, setForTransaction(declaredSettings(database))))) {
      await client.query('rollback');
      await sleep(lockInterval);
    }
    return await work();
  } finally {
    await client.end();
  }
}

/** Begins a transaction that has the lock; false if another process has it. */
async function lockBy(client: Client, settings: string | null): Promise<boolean> {
  await client.query('begin');
  if (settings !== null) await client.query(settings);
  // the transaction does nothing else until the work is done
  await client.query('set local idle_in_transaction_session_timeout = 0');
  return (await client.query(tryLockSql)).rows[0].free;
}
