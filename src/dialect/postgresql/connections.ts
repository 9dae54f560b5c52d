import type { Pool } from 'pg';
import { coalesced } from '../../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import type { Connections, RowSteps } from '../dialect.ts';
import { postgresCursors } from './cursors.ts';
import { postgresExecutor } from './executor.ts';
import { watchPool } from './pool-watch.ts';
import type { PostgresDatabase } from './pooling.ts';
import { postgresWriter } from './writer.ts';

/** Connections to a PostgreSQL server: the pool of the mapper, and those for compiled statements. */
export function postgresConnections(database: PostgresDatabase): {
  readonly connections: Connections;
  /** Takes the pool of the mapper, which is created with its first connection. */
  readonly onPoolCreated: (pool: Pool) => void;
} {
  let pool: Pool | null = null;
  let mapperWatch: StatementWatch | undefined;
  const connections = Object.freeze<Connections>({
    inProcess: false,
    remedy: 'start the server, or check app_main.database.url',
    executor(watch, limits) {
      const executor = postgresExecutor(database, watch, limits);
      return { ...executor, rows: coalesced(executor.rows) };
    },
    writer: (watch) => postgresWriter(database, watch),
    cursors: (watch) => postgresCursors(database, watch),
    // loaded only if there are replicas
    replicas:
      database.replicas.length > 0 && !database.readOnly
        ? async (options) => (await import('./replicas/replica-reads.ts')).replicaReads(database, options)
        : null,
    watch(watch) {
      mapperWatch = watch;
    },
    pool: () => pool && { open: pool.totalCount, used: pool.totalCount - pool.idleCount, waiting: pool.waitingCount },
    hasSnapshots: true,
    rowSteps,
    removeDependents: null,
    isReadOnly,
    refuseWrites,
    memory: null,
  });
  return {
    connections,
    onPoolCreated(created) {
      pool = created;
      watchPool(created, database, () => mapperWatch);
    },
  };
}

const cursorName = 'declarest_export';

async function rowSteps(em: RequestEntityManager, sql: string, params: readonly unknown[]): Promise<RowSteps> {
  await em.execute('set local cursor_tuple_fraction = 1');
  await em.execute(`declare ${cursorName} no scroll cursor for ${sql}`, [...params]);
  return {
    next: (size) => em.execute(`fetch forward ${size} from ${cursorName}`),
    close: () => undefined,
  };
}

/** The mapper connects with a setting for this, see `options` in dialect.ts. */
async function refuseWrites(mapper: Mapper): Promise<void> {
  if (await isReadOnly(mapper)) return;
  throw new Error(
    'the database ignored the setting default_transaction_read_only, which "explain" requires; ' +
      'a connection pooler may have dropped it: set app_main.database.url to the server itself',
  );
}

async function isReadOnly(mapper: Mapper): Promise<boolean> {
  const [row] = await mapper.em.fork().execute("select current_setting('transaction_read_only') as state");
  return row?.state === 'on';
}
