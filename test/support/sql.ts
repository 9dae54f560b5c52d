import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { DatabaseKind } from './selected-databases.ts';

/** Runs a statement over a connection of its own. */
export async function rowsOf(kind: DatabaseKind, url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (kind === 'sqlite') {
    const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query(sql);
    return Array.isArray(result) ? [] : result.rows;
  } finally {
    await client.end();
  }
}
