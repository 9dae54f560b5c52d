import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { command } from '../scripts/command.ts';

/** `declarest serve` in a process of its own. */
export interface ServedApplication {
  readonly url: string;
  readonly child: ChildProcess;
  /** The end of its standard error. */
  errors(): string;
  /** Resident memory in MiB, now and at its peak. */
  memory(): { readonly now: number; readonly peak: number };
  /** Resets the peak of memory. */
  forgetPeak(): void;
  /** Sends a signal, and returns the exit code and the milliseconds until the exit. */
  end(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly took: number }>;
}

/** Starts the application and waits until it listens. `before` is a program that runs it, such as strace. */
export async function serve(
  directory: string,
  options: readonly string[] = [],
  before: readonly string[] = [],
): Promise<ServedApplication> {
  const [program, ...args] = [...before, process.execPath, command, 'serve', directory, '--port', '0', ...options];
  const child = spawn(program as string, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  child.on('exit', () => process.off('exit', kill));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-20_000);
  });
  const url = await new Promise<string>((resolve, reject) => {
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      const found = /^listening on (\S+)$/m.exec(printed)?.[1];
      if (found) resolve(found);
    });
    child.once('exit', () => reject(new Error(`it did not start:\n${errors}`)));
  });
  return {
    url,
    child,
    errors: () => errors,
    memory() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      const size = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
      return { now: size('VmRSS'), peak: size('VmHWM') };
    },
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    async end(signal = 'SIGTERM') {
      const start = performance.now();
      if (child.exitCode !== null || child.signalCode !== null) return { code: child.exitCode, took: 0 };
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
      return { code: child.exitCode, took: performance.now() - start };
    },
  };
}
