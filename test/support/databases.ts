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
  /** Releases it. Its content is removed, and another test may get the empty database. */
  drop(): Promise<void>;
  /** Removes it, so that nobody can connect to it. */
  destroy(): Promise<void>;
}

/**
 * Returns an empty database that nothing else uses. Call `drop` after closing all your connections. If this run leaves out the
 * kind of database, the test is reported as skipped.
 */
export async function freshDatabase(kind: DatabaseKind): Promise<FreshDatabase> {
  if (!databases.includes(kind)) throw leaveOut(kind);
  const name = `test_${randomBytes(8).toString('hex')}`;
  return kind === 'sqlite' ? sqlite(name) : postgresql(name);
}

/** Skips the current test. Outside of a test, it returns an error to throw. */
function leaveOut(kind: DatabaseKind): Error {
  const reason = `${databasesVariable}=${process.env[databasesVariable]} leaves out ${kind}`;
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(reason);
  return new Error(`${reason}; unset it to run this test`);
}

function sqlite(name: string): FreshDatabase {
  const file = join(inject('runDirectory'), `${name}.db`);
  const drop = async () => {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(file + suffix, { force: true });
  };
  return { url: `sqlite:${file}`, drop, destroy: drop };
}

/**
 * Creating a database takes 150 ms, emptying one 10 ms. A table of the maintenance database lists the unused ones, for every
 * process of the run.
 */
async function postgresql(name: string): Promise<FreshDatabase> {
  const server = inject('postgresUrl');
  const used = await onMaintenance(server, async (client) => {
    const { rows } = await client.query(
      'delete from unused_database where name = (select name from unused_database limit 1 for update skip locked) returning name',
    );
    if (rows.length > 0) return rows[0].name as string;
    // nothing connects to template0, so concurrent test files do not block each other
    const { rows: found } = await client.query("select current_setting('server_version_num')::int >= 150000 as has_strategies");
    await client.query(`create database ${name} template template0 ${found[0].has_strategies ? 'strategy file_copy' : ''}`);
    return name;
  });
  const url = new URL(server);
  url.pathname = `/${used}`;
  const destroy = () => onMaintenance(server, async (client) => void (await client.query(removing(used))));
  return { url: url.href, drop: () => release(server, url.href, used), destroy };
}

/** Empties a database for another test, or removes it if that fails. */
async function release(server: string, url: string, name: string): Promise<void> {
  await onMaintenance(server, async (client) => {
    try {
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await client.query(`alter database ${name} reset all`);
      await onServer(url, (own) => own.query(emptied));
      await client.query('insert into unused_database values ($1)', [name]);
    } catch {
      await client.query(removing(name));
    }
  });
}

const removing = (name: string) => `drop database if exists ${name} with (force)`;

const emptied = `
  do $$
  declare own text;
  begin
    for own in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
      execute format('drop schema %I cascade', own);
    end loop;
  end $$;
  create schema public;
  comment on schema public is 'standard public schema';
  grant usage on schema public to public`;

/** On PostgreSQL, concurrent `create table if not exists` can fail. */
function ignoreRace(error: { code?: string }): void {
  if (error.code !== '23505' && error.code !== '42P07') throw error;
}

/** Connections of this process to maintenance databases. Opening one takes longer than the work on it. */
const maintenance = new Map<string, Promise<Client>>();
let lastWork: Promise<unknown> = Promise.resolve();

/** Works on the maintenance database, after what this process has asked for before. */
function onMaintenance<Result>(server: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const result = lastWork.then(async () => work(await maintenanceOf(server)));
  lastWork = result.catch(() => {});
  return result;
}

function maintenanceOf(server: string): Promise<Client> {
  const open = maintenance.get(server);
  if (open) return open;
  const opening = openMaintenance(server);
  maintenance.set(server, opening);
  opening.catch(() => maintenance.delete(server));
  return opening;
}

async function openMaintenance(server: string): Promise<Client> {
  const client = new Client({ connectionString: server });
  const forget = () => maintenance.delete(server);
  // the server stops at the end of the run
  client.on('error', forget).on('end', forget);
  await client.connect();
  // it keeps no process running; the types lack the method
  (client as unknown as { unref(): void }).unref();
  await client.query('create table if not exists unused_database (name text primary key)').catch(ignoreRace);
  return client;
}

async function onServer<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
