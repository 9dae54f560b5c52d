import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Surroundings } from './row.ts';

let databases = 0;

export type FreshDatabase = Awaited<ReturnType<typeof freshDatabase>>;

/** A new database: its URL, and a function that queries it on its own connection. */
export async function freshDatabase({ kind, postgres, root }: Surroundings) {
  const name = `chaos_${process.pid}_${++databases}`;
  if (kind === 'sqlite') {
    const file = join(mkdtempSync(join(root, 'db-')), `${name}.db`);
    const query = async (sql: string) => {
      const db = new DatabaseSync(file, { timeout: 3000 });
      try {
        return db.prepare(sql).all() as Record<string, unknown>[];
      } finally {
        db.close();
      }
    };
    return { url: `sqlite:${file}`, query };
  }
  const url = new URL(postgres.url);
  await queryAt(url.href, `create database ${name}`);
  url.pathname = `/${name}`;
  return { url: url.href, query: (sql: string) => queryAt(url.href, sql) };
}

async function queryAt(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Transactions and connections that the application has left open. */
export async function leftOpen(
  { kind }: Surroundings,
  query: (sql: string) => Promise<Record<string, unknown>[]>,
): Promise<string> {
  if (kind === 'sqlite') {
    await query('begin immediate');
    return '0 transactions';
  }
  const [row] = await query(
    "select count(*) filter (where state like 'idle in%') as open, count(*) as all from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  return `${row?.open} transactions, ${row?.all} connections`;
}
