import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { freePort, own, serverAccount, temporaryRoot } from './postgres.ts';
import { makeTemporary } from './temporary.ts';

/** A PgBouncer in front of a PostgreSQL server. */
export interface PgBouncer {
  /** The address of the same database through PgBouncer. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer with nothing configured but its mode, pool size and users. */
export async function startPgBouncer(server: string, poolSize: number): Promise<PgBouncer> {
  const account = serverAccount();
  const { directory, remove } = makeTemporary('pgbouncer', temporaryRoot(account));
  own(directory, account);
  const address = new URL(server);
  const port = await freePort();
  const users = join(directory, 'users.txt');
  const config = join(directory, 'pgbouncer.ini');
  writeFileSync(users, `"${address.username}" "${decodeURIComponent(address.password)}"\n`);
  writeFileSync(
    config,
    `[databases]
* = host=${address.hostname} port=${address.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  );
  for (const file of [users, config]) own(file, account);
  // Debian has it where only the administrator's path leads
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` };
  const bouncer = spawn('pgbouncer', [config], { ...account, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = () => bouncer.kill('SIGQUIT');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    const ended = bouncer.exitCode === null ? once(bouncer, 'exit') : null;
    kill();
    await ended;
    remove();
  };
  await untilListening(bouncer);
  address.port = String(port);
  return { url: address.href, stop };
}

function untilListening(bouncer: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    bouncer.on('error', () => reject(new Error('pgbouncer is not installed; on Debian: apt-get install pgbouncer')));
    bouncer.on('exit', (code) => reject(new Error(`pgbouncer ended with code ${code}\n${log}`)));
    bouncer.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
      if (log.includes('process up')) resolve();
    });
  });
}
