import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pinned } from './cores.ts';

/** How to start a server. It gets its port as PORT, and as `{port}` in its arguments. */
export interface ServerCommand {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A request that returns 200 as soon as the server has started. */
  readonly probe: { readonly path: string; readonly headers?: Readonly<Record<string, string>> };
  readonly log: string;
}

/** A running server on the core for servers. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  /** Milliseconds from its start to its first response. */
  readonly boot: number;
  stop(): Promise<void>;
}

const startTimeout = 60_000;
const ticksPerSecond = 100;

export async function startServer({ args, cwd, env, probe, log }: ServerCommand): Promise<ServerProcess> {
  const port = await freePort();
  const output = openSync(log, 'a');
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', TZ: 'UTC', NODE_ENV: 'production' };
  const begun = performance.now();
  const child = spawn(
    ...pinned(
      'server',
      process.execPath,
      args.map((arg) => arg.replace('{port}', String(port))),
    ),
    {
      cwd,
      env: { ...inherited, ...env, PORT: String(port) },
      stdio: ['ignore', output, output],
    },
  );
  closeSync(output);
  const kill = () => child.kill('SIGKILL');
  // prepended, because the server must stop before the folder of its log is removed
  process.prependOnceListener('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const killTimer = setTimeout(kill, 5000);
    await exited;
    clearTimeout(killTimer);
  };
  for (;;) {
    if ((await statusOf(port, probe)) === 200) break;
    if (!isRunning(child) || performance.now() - begun > startTimeout) {
      await stop();
      throw new Error(`${args.join(' ')} did not answer ${probe.path} with 200; its output is in ${log}`);
    }
    await sleep(2);
  }
  return { port, pid: child.pid as number, boot: performance.now() - begun, stop };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function statusOf(port: number, { path, headers = {} }: ServerCommand['probe']): Promise<number | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    }).on('error', () => resolve(undefined));
  });
}

/** Seconds of CPU that a process has used, all threads together. */
export function cpuSeconds(pid: number): number {
  const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process, in megabytes. */
export function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
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
