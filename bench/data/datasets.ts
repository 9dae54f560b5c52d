import { join } from 'node:path';
import { type Contestant, type Database, serveCommand, type Urls } from '../contestants.ts';
import { exampleDirectory } from '../install.ts';
import { startServer } from '../server-process.ts';
import { secret } from '../tokens.ts';
import { exampleToken } from '../works.ts';
import { exampleAmounts, exampleIndexes, exampleRows } from './example.ts';
import { createDatabase, fillPostgres, insertIntoPostgres, postgresTypes, runOnPostgres } from './postgres.ts';
import { amounts } from './shape.ts';
import { fillSqlite, insertIntoSqlite, runOnSqlite, sqliteTypes } from './sqlite.ts';
import { tenantAmounts, tenantRows, tenantTables } from './tenant.ts';

/** The rows that a contestant serves: people, those of the example application, or those of many tenants. */
export type Dataset = 'people' | 'example' | 'tenant';

/** Tables that workloads change. */
const written: Readonly<Record<Dataset, readonly string[]>> = {
  people: ['person', 'course_person', 'team_person'],
  example: ['person', 'participation'],
  tenant: ['person', 'course_person', 'team_person'],
};

/** Statements that remove the rows created by workloads. */
const resets: Readonly<Record<Dataset, readonly string[]>> = {
  people: [],
  example: [`delete from participation where id > ${exampleAmounts.courses * exampleAmounts.participations}`],
  tenant: [`delete from person where id > ${tenantAmounts.people}`],
};

/** Fills the databases that the contestants need. */
export async function fillDatasets(contestants: readonly Contestant[], server: string, directory: string): Promise<Urls> {
  const urls: Record<Dataset, Partial<Record<Database, string>>> = { people: {}, example: {}, tenant: {} };
  for (const { data, database } of contestants) {
    urls[data][database] ??= await (database === 'sqlite'
      ? fillFile(data, join(directory, `${data}.db`), directory)
      : fillServer(data, server, directory));
  }
  return urls;
}

async function fillServer(data: Dataset, server: string, directory: string): Promise<string> {
  if (data === 'people') return fillPostgres(server, data, amounts.people);
  const url = await createDatabase(server, data);
  if (data === 'tenant') await runOnPostgres(url, tenantTables(postgresTypes));
  else {
    await createExampleTables(url, directory);
    await runOnPostgres(url, exampleIndexes);
  }
  await insertIntoPostgres(url, data === 'tenant' ? tenantRows() : exampleRows());
  return url;
}

async function fillFile(data: Dataset, file: string, directory: string): Promise<string> {
  if (data === 'people') return fillSqlite(file);
  const url = `sqlite:${file}`;
  if (data === 'tenant') runOnSqlite(url, tenantTables(sqliteTypes));
  else await createExampleTables(url, directory);
  insertIntoSqlite(file, data === 'tenant' ? tenantRows() : exampleRows());
  return url;
}

/** The example creates its tables when it starts, because its configuration has `schema: update`. */
async function createExampleTables(url: string, directory: string): Promise<void> {
  const server = await startServer({
    args: serveCommand(exampleDirectory, { reads: 'default', profile: undefined }),
    cwd: exampleDirectory,
    env: { DATABASE_URL: url, JWT_SECRET: secret },
    probe: { path: '/api/center.json', headers: { authorization: `Bearer ${exampleToken(1)}` } },
    log: join(directory, 'example-tables.log'),
  });
  await server.stop();
}

/** Removes rows, row versions and dirty pages of one round, so that the next does not pay for them. */
export async function tidyDatasets(urls: Urls): Promise<void> {
  for (const data of Object.keys(written) as Dataset[]) {
    for (const database of Object.keys(urls[data]) as Database[]) await resetDataset(urls, data, database);
  }
}

/** Removes the rows created by workloads, so that every contestant begins with the same number. */
export async function resetDataset(urls: Urls, data: Dataset, database: Database): Promise<void> {
  const url = urls[data][database];
  if (url === undefined) return;
  if (database === 'sqlite') {
    if (resets[data].length > 0) runOnSqlite(url, resets[data]);
    return;
  }
  await runOnPostgres(url, [...resets[data], ...written[data].map((table) => `vacuum analyze ${table}`), 'checkpoint']);
}
