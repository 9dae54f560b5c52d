import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { loadApplication } from '../../src/application.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import { writeFiles } from '../cli/applications.ts';
import { call } from '../cli/call.ts';
import type { DatabaseKind, FreshDatabase } from '../support/databases.ts';

/** The statements that create a sample schema. */
export function schemaSql(name: string, kind: DatabaseKind): string {
  return readFileSync(join(import.meta.dirname, 'schemas', `${name}.${kind}.sql`), 'utf8');
}

/** Runs statements in a database. */
export async function runSql(kind: DatabaseKind, { url }: Pick<FreshDatabase, 'url'>, sql: string): Promise<void> {
  if (kind === 'sqlite') {
    const database = new DatabaseSync(url.slice('sqlite:'.length));
    database.exec(sql);
    database.close();
    return;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Pulls a database into an empty folder. */
export async function pullInto(url: string, ...options: string[]) {
  const directory = writeFiles({});
  return { directory, ...(await call(['pull', directory, '--from', url, ...options])) };
}

/** Starts an application as far as its schema check; throws the differences. */
export async function checkSchema(directory: string, url: string): Promise<void> {
  const { declaration, mapper } = await loadApplication({ directory, env: { DATABASE_URL: url } });
  try {
    await prepareDatabase(mapper, declaration.database, { directory, seed: null });
  } finally {
    await mapper.close(true);
  }
}
