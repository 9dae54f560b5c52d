import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaries, freePort, initialize, launch, own, reachableBinaries, serverAccount, temporaryRoot } from './postgres.ts';
import { makeTemporary } from './temporary.ts';

/** A PostgreSQL server and a streaming replica of it. */
export interface ReplicatedServer {
  /** The maintenance database of the primary. */
  readonly primary: string;
  /** The same database of the replica. */
  readonly replica: string;
  /** Ends the replica at once, as a crash would. */
  killReplica(): Promise<void>;
  restartReplica(): Promise<void>;
  /** Stops and continues the processes of the replica: it accepts connections, but does not respond. */
  freezeReplica(isFrozen: boolean): void;
  stop(): Promise<void>;
}

/** Copies a new server before its first start. The copy replays what the server writes. */
export async function startReplicatedServer(): Promise<ReplicatedServer> {
  const account = serverAccount();
  const { directory, remove } = makeTemporary('replica', temporaryRoot(account));
  own(directory, account);
  const native = reachableBinaries(await binaries(), directory, account);
  const [first, second] = ['primary', 'standby'].map((name) => join(directory, name)) as [string, string];
  for (const place of [first, second]) {
    mkdirSync(place, { mode: 0o700 });
    own(place, account);
  }
  const password = randomBytes(16).toString('hex');
  initialize(native, first, password, account);
  const servers: ChildProcess[] = [];
  const kill = () => {
    for (const server of servers) server.kill('SIGQUIT');
  };
  process.prependOnceListener('exit', kill);
  const ports = [await freePort(), await freePort()] as const;
  const data = join(second, 'data');
  cpSync(join(first, 'data'), data, { recursive: true });
  chmodSync(data, 0o700);
  writeFileSync(join(data, 'standby.signal'), '');
  const source = `host=127.0.0.1 port=${ports[0]} user=postgres password=${password}`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })]) own(join(data, name), account);
  // as in production, a client is told of a commit when a replica can receive it
  servers.push(await launch(native, first, ports[0], account, { synchronous_commit: 'on' }));
  const launchReplica = async () => {
    servers.push(await launch(native, second, ports[1], account));
  };
  await launchReplica();
  const url = (port: number) => `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;
  return {
    primary: url(ports[0]),
    replica: url(ports[1]),
    async killReplica() {
      const server = servers.pop() as ChildProcess;
      const ended = once(server, 'exit');
      server.kill('SIGQUIT');
      await ended;
    },
    restartReplica: launchReplica,
    freezeReplica(isFrozen) {
      const { pid } = servers.at(-1) as ChildProcess;
      for (const id of [pid as number, ...childrenOf(pid as number)]) process.kill(id, isFrozen ? 'SIGSTOP' : 'SIGCONT');
    },
    async stop() {
      process.off('exit', kill);
      const ended = servers.map((server) => once(server, 'exit'));
      kill();
      await Promise.all(ended);
      remove();
    },
  };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(Boolean);
}
