import type { Transaction } from 'kysely';
import type { Mapper, RequestEntityManager } from '../../../database/mapper.ts';
import { MigrationError } from '../../../database/migrations/migration-error.ts';
import { databaseErrors } from '../../errors.ts';
import { type MigrationTools, migrationTable } from '../../migration-tools.ts';
import type { Connection } from '../kysely-connection.ts';
import { alterTable, copyOf, rebuiltTable, renamedTable } from './alter-table.ts';

export const sqliteMigrations: MigrationTools = Object.freeze<MigrationTools>({
  alterTable,
  renameKey: () => [],
  transaction,
  alone: null,
  async execute(em, sql) {
    await checkLostColumns(em, sql);
    await saveParts(em, sql);
    const context = em.getTransactionContext() as unknown as Transaction<unknown>;
    const connection = await context.getExecutor().provideConnection(async (provided) => provided);
    // unlike a prepared statement, this runs all statements of a text
    for (const each of [sql, ...takeSavedParts(em, sql)]) (connection as Connection).command(each);
  },
  createTable:
    `create table ${migrationTable} (id integer not null primary key autoincrement, name text not null unique, ` +
    'executed_at datetime not null default current_timestamp)',
  selectApplied: `select name, strftime('%Y-%m-%dT%H:%M:%SZ', executed_at) as applied_at from ${migrationTable} order by id`,
  neutralTime: '0',
  async tables(em) {
    const sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'";
    return (await em.execute<{ name: string }[]>(sql)).map(({ name }) => name);
  },
});

/** A rebuild copies the columns of the models. Throws if the table has others, whose data would be lost. */
async function checkLostColumns(em: RequestEntityManager, sql: string): Promise<void> {
  const rebuilt = rebuiltTable(sql);
  if (!rebuilt) return;
  const { drops, table } = rebuilt;
  const columnsOf = async (name: string) =>
    (await em.execute<{ name: string }[]>('select name from pragma_table_info(?)', [name])).map((column) => column.name);
  const copied = await columnsOf(copyOf(table));
  if (copied.length === 0) return;
  const lost = (await columnsOf(table)).filter((column) => !copied.includes(column) && !drops.includes(column));
  if (lost.length === 0) return;
  throw new MigrationError(
    `this migration recreates the table ${table}, and would drop ${lost.map((column) => `${table}.${column}`).join(', ')}, which no model ` +
      'has, with all their data; nothing was changed. Add properties for the columns to keep, or drop them in a separate migration',
  );
}

/** Statements that create indexes and triggers again, by the table that is being rebuilt. */
const savedParts = new WeakMap<RequestEntityManager, Map<string, readonly string[]>>();

/**
 * Before a rebuild drops a table, saves its indexes and triggers that are not in the models, unless they name a dropped column.
 */
async function saveParts(em: RequestEntityManager, sql: string): Promise<void> {
  const rebuilt = rebuiltTable(sql);
  if (!rebuilt?.known) return;
  const { drops, known, table } = rebuilt;
  const parts: { name: string; sql: string }[] = await em.execute(
    "select name, sql from sqlite_master where tbl_name = ? collate nocase and type in ('index', 'trigger') and sql is not null",
    [table],
  );
  const own = parts.filter((part) => !known.includes(part.name) && !drops.some((column) => mentions(part.sql, column)));
  const tables = savedParts.get(em) ?? new Map<string, readonly string[]>();
  savedParts.set(
    em,
    tables.set(
      table,
      own.map((part) => part.sql),
    ),
  );
}

function takeSavedParts(em: RequestEntityManager, sql: string): readonly string[] {
  const table = renamedTable(sql);
  const parts = table === null ? undefined : savedParts.get(em)?.get(table);
  if (table === null || !parts) return [];
  savedParts.get(em)?.delete(table);
  return parts;
}

function mentions(sql: string, column: string): boolean {
  const word = '[\\p{L}\\p{N}_$]';
  return new RegExp(`(?<!${word})${column.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!${word})`, 'iu').test(sql);
}

/**
 * Turns foreign keys off meanwhile, and checks them before the commit. Otherwise every rebuild, which drops a table, would remove
 * the rows that reference it. SQLite ignores that setting inside of a transaction, so it is set outside.
 */
async function transaction<Result>(
  mapper: Mapper,
  onWait: () => void,
  work: (em: RequestEntityManager) => Promise<Result>,
): Promise<Result> {
  await mapper.em.fork().execute('pragma foreign_keys = off');
  try {
    return await whenFree(mapper, onWait, async (em) => {
      const before = await brokenReferences(em);
      const result = await work(em);
      const broken = await brokenReferences(em);
      if (broken.length > before.length)
        throw new MigrationError(`rows would reference rows that do not exist: ${listed(broken)}; nothing was changed`);
      return result;
    });
  } finally {
    await mapper.em.fork().execute('pragma foreign_keys = on');
  }
}

/** A transaction takes the write lock when it begins, and another process may hold it for long. */
async function whenFree<Result>(
  mapper: Mapper,
  onWait: () => void,
  work: (em: RequestEntityManager) => Promise<Result>,
): Promise<Result> {
  for (let waits = false; ; waits = true) {
    let begun = false;
    try {
      return await mapper.em.fork().transactional(async (em) => {
        begun = true;
        return work(em as RequestEntityManager);
      });
    } catch (error) {
      if (begun || !isBusy(error)) throw error;
      if (!waits) onWait();
    }
  }
}

function isBusy(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (databaseErrors.isUnavailable(cause)) return true;
  return false;
}

interface BrokenReference {
  readonly table: string;
  readonly rowid: number | null;
  readonly parent: string;
}

async function brokenReferences(em: RequestEntityManager): Promise<BrokenReference[]> {
  return em.execute('pragma foreign_key_check');
}

function listed(broken: readonly BrokenReference[]): string {
  const shown = broken.slice(0, 5).map(({ parent, rowid, table }) => `${table} row ${rowid} → ${parent}`);
  return [...shown, ...(broken.length > 5 ? [`and ${broken.length - 5} more`] : [])].join(', ');
}
