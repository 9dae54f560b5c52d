import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import type { Io } from './io.ts';

/** `declarest serve` in a process of its own. */
export interface ChildServer {
  /** The exit code, once it ended. */
  readonly ended: Promise<number>;
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<void>;
}

/** Milliseconds that the child may take to stop before it is killed. */
const patience = 3000;

/** Starts `declarest serve` with these arguments; what it prints goes where this process prints. */
export function startChild(args: readonly string[], io: Io, onOutput: (text: string) => void): ChildServer {
  const child = spawn(process.execPath, [join(packageRoot, 'bin', 'declarest.js'), 'serve', ...args], {
    cwd: io.cwd,
    // A process that is started so ends itself when the channel to this one is cut, so that it can never be left behind.
    env: { ...io.env, DECLAREST_STARTED_BY: String(process.pid) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Out of the reach of a terminal's interrupt, which would come in addition to ours.
    detached: process.platform !== 'win32',
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    io.stdout.write(text);
    onOutput(text);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => io.stderr.write(text));
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
  return {
    ended,
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), patience);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
    },
  };
}
