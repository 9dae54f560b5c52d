import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject, type RunnerTestCase, TestRunner } from 'vitest';
import { type DatabaseKind, databasesVariable, selectedDatabases } from './selected-databases.ts';

export type { DatabaseKind } from './selected-databases.ts';

/** Every database that suites run on: `describe.each(databases)('… on %s', (database) => { … })`. */
export const databases: readonly DatabaseKind[] = selectedDatabases();

/** A new empty database, and the way to remove it. */
export interface FreshDatabase {
  url: string;
  drop(): Promise<void>;
}

/**
 * Makes a new empty database that nothing else uses; call `drop` after closing every connection of your own. A test that asks for a
 * database which this run leaves out is reported as skipped.
 */
export async function freshDatabase(kind: DatabaseKind): Promise<FreshDatabase> {
  if (!databases.includes(kind)) throw leaveOut(kind);
  const name = `test_${randomBytes(8).toString('hex')}`;
  return kind === 'sqlite' ? sqlite(name) : postgresql(name);
}

/** Skips the current test. Outside of a test nothing can be skipped, and the error is thrown. */
function leaveOut(kind: DatabaseKind): Error {
  const reason = `${databasesVariable}=${process.env[databasesVariable]} leaves out ${kind}`;
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(reason);
  return new Error(`${reason}; unset it to run this test`);
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
