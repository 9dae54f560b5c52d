import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject } from 'vitest';

/** Every database that suites run on: `describe.each(databases)('… on %s', (database) => { … })`. */
export const databases = ['sqlite', 'postgresql'] as const;

export type DatabaseKind = (typeof databases)[number];

/** A new empty database, and the way to remove it. */
export interface FreshDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Makes a new empty database that nothing else uses; call `drop` after closing every connection of your own. */
export async function freshDatabase(kind: DatabaseKind): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  return kind === 'sqlite' ? sqlite(name) : postgresql(name);
}

function sqlite(name: string): FreshDatabase {
  const file = join(inject('sqliteDirectory'), `${name}.db`);
  return {
    url: `sqlite:${file}`,
    drop: async () => {
      for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(file + suffix, { force: true });
    },
  };
}

async function postgresql(name: string): Promise<FreshDatabase> {
  const server = inject('postgresUrl');
  // template0 is never connected to, so concurrent test files are not in each other's way; copying its files is the quickest.
  await maintain(server, `create database ${name} template template0 strategy file_copy`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => maintain(server, `drop database if exists ${name} with (force)`) };
}

async function maintain(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
