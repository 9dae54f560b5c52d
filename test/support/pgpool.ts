import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { missingPrograms } from '../../scripts/ensure-programs.mjs';
import { freePort, own, serverAccount, temporaryRoot } from './postgres.ts';
import { makeTemporary } from './temporary.ts';

/** A Pgpool-II in front of a PostgreSQL server. */
export interface Pgpool {
  /** The address of the same database through Pgpool-II. */
  readonly url: string;
  stop(): Promise<void>;
}

// Debian has it where only the administrator's path leads
const path = `${process.env.PATH}${delimiter}/usr/sbin`;

export const hasPgpool = missingPrograms(['pgpool'], path).length === 0;

/** Starts Pgpool-II with nothing configured but its server, its users and its number of processes. */
export async function startPgpool(server: string, processes: number, settings = ''): Promise<Pgpool> {
  const account = serverAccount();
  const { directory, remove } = makeTemporary('pgpool', temporaryRoot(account));
  own(directory, account);
  const address = new URL(server);
  const port = await freePort();
  const sockets = join(directory, 's');
  mkdirSync(sockets);
  own(sockets, account);
  const files = {
    'pgpool.conf': `backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = ${port}
pcp_port = ${await freePort()}
socket_dir = '${sockets}'
pcp_socket_dir = '${sockets}'
backend_hostname0 = '${address.hostname}'
backend_port0 = ${address.port}
backend_weight0 = 1
enable_pool_hba = on
pool_passwd = '${join(directory, 'pool_passwd')}'
sr_check_user = '${address.username}'
sr_check_password = '${decodeURIComponent(address.password)}'
pid_file_name = '${join(directory, 'pgpool.pid')}'
logdir = '${directory}'
work_dir = '${directory}'
num_init_children = ${processes}
${settings}
`,
    'pool_hba.conf': 'host all all 127.0.0.1/32 scram-sha-256\n',
    pool_passwd: `${address.username}:TEXT${decodeURIComponent(address.password)}\n`,
    'pcp.conf': '',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(directory, name), text);
    own(join(directory, name), account);
  }
  const file = (name: string) => join(directory, name);
  const args = ['-n', '-f', file('pgpool.conf'), '-a', file('pool_hba.conf'), '-F', file('pcp.conf')];
  const pool = spawn('pgpool', args, { ...account, env: { ...process.env, PATH: path }, stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = () => pool.kill('SIGINT');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    const ended = pool.exitCode === null ? once(pool, 'exit') : null;
    kill();
    await ended;
    remove();
  };
  await untilReady(pool);
  address.port = String(port);
  return { url: address.href, stop };
}

function untilReady(pool: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    pool.on('error', () => reject(new Error('pgpool is not installed; on Debian: apt-get install pgpool2')));
    pool.on('exit', (code) => reject(new Error(`pgpool ended with code ${code}\n${log}`)));
    pool.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
      if (log.includes('successfully started')) resolve();
    });
  });
}
