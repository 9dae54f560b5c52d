import type { Transaction } from 'kysely';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { Connections, MemoryDatabase, RowSteps } from '../dialect.ts';
import { sqliteCursors } from './cursors.ts';
import { removeDependents } from './dependents.ts';
import { sqliteExecutor } from './executor.ts';
import type { Connection } from './kysely-connection.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { createPrivate } from './open-file.ts';
import { withCountCache } from './reads/count-cache.ts';
import { sqliteWriter } from './writer.ts';

/** Connections to a SQLite database, which all belong to the Kysely dialect of the mapper. */
export function sqliteConnections(kysely: SqliteFileDialect): Connections {
  return Object.freeze<Connections>({
    inProcess: true,
    remedy: 'check app_main.database.url, and that its directory is writable',
    executor(watch, limits) {
      const executor = sqliteExecutor(kysely, watch, limits);
      // a database in memory has one connection, and SQLite does not report a connection's own commits to it
      return kysely.file === null ? executor : withCountCache(executor, kysely);
    },
    writer: (watch) => sqliteWriter(kysely, watch),
    cursors: (watch) => sqliteCursors(kysely, watch),
    replicas: null,
    watch(watch) {
      kysely.watch = watch;
    },
    pool: () => null,
    // a database in memory has one connection: an open transaction would block all other requests
    hasSnapshots: kysely.file !== null,
    rowSteps,
    removeDependents,
    isReadOnly: async () => false,
    refuseWrites: () => kysely.refuseWrites(),
    memory: kysely.file === null ? memoryOf(kysely) : null,
  });
}

async function rowSteps(em: RequestEntityManager, sql: string, params: readonly unknown[]): Promise<RowSteps> {
  const context = em.getTransactionContext() as unknown as Transaction<unknown>;
  const connection = await context.getExecutor().provideConnection(async (provided) => provided);
  return (connection as Connection).steps(em.getPlatform().formatQuery(sql, params));
}

function memoryOf(kysely: SqliteFileDialect): MemoryDatabase {
  return {
    changes: () => kysely.read((db) => db.prepare('select total_changes() as changes').get()?.changes),
    async copyTo(file) {
      createPrivate(file);
      await kysely.read((db) => db.prepare('vacuum into ?').run(file));
      return `sqlite:${file}`;
    },
  };
}
