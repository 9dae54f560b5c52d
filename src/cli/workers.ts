import cluster, { type Worker } from 'node:cluster';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../package-root.ts';
import { ApplicationFailure } from './failure.ts';
import { type Io, say } from './io.ts';

/** The environment variable with the number of a worker: 1, 2, and so on. */
const marker = 'DECLAREST_WORKER';

/** The environment variable of a worker that takes the place of one that serves. */
const replacing = 'DECLAREST_REPLACES_WORKER';

/** Milliseconds before a worker is restarted. The first restart is immediate; the pause grows if workers end soon. */
const firstPause = 100;
const longestPause = 10_000;

/** Milliseconds after which a worker counts as stable. */
const stableAfter = 10_000;

/** Milliseconds beyond the declared shutdown timeout before workers are killed. */
const grace = 1000;

/** Whether this process is a worker. */
export function isWorker(): boolean {
  return cluster.isWorker && process.env[marker] !== undefined;
}

/** The number of this worker. A restarted worker keeps it. */
export function workerName(): string {
  return process.env[marker] ?? '';
}

/** Whether another worker serves until this one listens. Then this one has to be able to serve, or end. */
export function isReplacement(): boolean {
  return process.env[replacing] !== undefined;
}

/** Reports the address of this worker to the primary process. */
export function reportListening(address: string): void {
  process.send?.({ listening: address });
}

/**
 * Resolves once a worker is asked to stop, by the primary process or by a signal. Terminals and service managers send signals to
 * all processes, so a worker may be asked twice: that does not stop it faster.
 */
export function untilWorkerStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
    // the primary process replaces its workers
    process.on('SIGHUP', () => undefined);
    process.on('message', (message) => {
      if (message === 'stop') resolve();
    });
  });
}

export interface WorkersOptions {
  readonly count: number;
  /** The arguments of `declarest serve`. */
  readonly args: readonly string[];
  /** Milliseconds that a worker has to stop. */
  readonly shutdownTimeout: number;
  /** Called with the address once all workers listen. */
  readonly onListening: (address: string) => void;
  /** Called with each started worker. */
  readonly onStart?: ((name: string, worker: Worker) => void) | undefined;
}

interface Started {
  readonly worker: Worker;
  /** The address, once it listens. Rejects if the worker ends before that. */
  readonly listening: Promise<string>;
}

/**
 * Runs several workers behind one port until it is asked to stop. A worker that ends is restarted. If one fails before it first
 * listens, all are stopped. SIGHUP replaces all workers, one by one.
 */
export async function runWorkers(
  { count, args, onListening, onStart, shutdownTimeout }: WorkersOptions,
  stopped: Promise<void>,
  io: Io,
): Promise<void> {
  cluster.setupPrimary({ exec: join(packageRoot, 'bin', 'declarest.js'), args: ['serve', ...args], cwd: io.cwd });
  /** The workers that run, with those that are being replaced. */
  const workers = new Set<Worker>();
  /** The worker of each name. One that ended is missing until it is restarted. */
  const current = new Map<string, Worker>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  let isStopping = false;
  let listening = 0;
  let pause = 0;
  // if this process is killed, its workers end too: their channel closes
  const kill = () => {
    for (const worker of workers) worker.process.kill('SIGKILL');
  };
  process.on('exit', kill);

  function fork(name: string, role: Readonly<Record<string, string>> = {}): Started {
    const worker = cluster.fork({ ...io.env, ...role, [marker]: name });
    workers.add(worker);
    const started = Promise.withResolvers<string>();
    started.promise.catch(() => undefined);
    worker.on('message', (message: { listening?: unknown } | null) => {
      if (typeof message?.listening === 'string') started.resolve(message.listening);
    });
    worker.on('exit', (code, signal) => {
      workers.delete(worker);
      started.reject(new ApplicationFailure(`a worker ended with ${signal ?? `exit code ${code}`} before it listened`));
    });
    return { worker, listening: started.promise };
  }

  function adopt(name: string, worker: Worker): void {
    current.set(name, worker);
    onStart?.(name, worker);
  }

  /** Starts one of the first workers. */
  function start(name: string): void {
    const { worker, listening: ready } = fork(name);
    adopt(name, worker);
    ready.then((address) => {
      restartAtEnd(name, worker);
      if (++listening < count) return;
      onListening(address);
      if (isAsked) void reload();
      // the worker itself has printed the reason
    }, failed.reject);
  }

  /** Restarts a worker when it ends, unless another one has replaced it. */
  function restartAtEnd(name: string, worker: Worker): void {
    const startedAt = performance.now();
    worker.on('exit', (code, signal) => {
      if (isStopping || current.get(name) !== worker) return;
      current.delete(name);
      pause = performance.now() - startedAt >= stableAfter ? 0 : Math.min(Math.max(2 * pause, firstPause), longestPause);
      say(io.stderr, `worker ${worker.process.pid} ended with ${signal ?? `exit code ${code}`}; starting another in ${pause} ms`);
      setTimeout(() => {
        if (isStopping || current.has(name)) return;
        const { worker: next } = fork(name);
        adopt(name, next);
        restartAtEnd(name, next);
      }, pause);
    });
  }

  /** Starts a new worker for each old one, which serves until the new one listens. Another SIGHUP ends it early. */
  async function replaceAll(): Promise<void> {
    for (let i = 1; i <= count && !isStopping && !isAsked; i++) {
      const name = String(i);
      const fresh = fork(name, { [replacing]: '1' });
      const state = fresh.listening.then(
        () => 'listening',
        () => 'ended',
      );
      const outcome = await Promise.race([state, askedAgain.promise]);
      if (outcome === 'listening') {
        const old = current.get(name);
        adopt(name, fresh.worker);
        restartAtEnd(name, fresh.worker);
        if (old) await stopOne(old);
        continue;
      }
      if (outcome === 'ended' && !isStopping) say(io.stderr, notReplaced(i - 1, count));
      await stopOne(fresh.worker);
      return;
    }
    if (!isStopping && !isAsked) say(io.stderr, `restarted ${count} workers`);
  }

  async function stopOne(worker: Worker): Promise<void> {
    if (worker.isConnected()) worker.send('stop');
    const end = performance.now() + shutdownTimeout + grace;
    while (workers.has(worker) && performance.now() < end) await sleep(20);
    if (workers.has(worker)) worker.process.kill('SIGKILL');
  }

  let isReplacing = false;
  /** Whether SIGHUP was received and not acted on yet. */
  let isAsked = false;
  let askedAgain = Promise.withResolvers<void>();
  async function reload(): Promise<void> {
    isAsked = true;
    askedAgain.resolve();
    // the first workers may have loaded the old code
    if (listening < count || isReplacing) return;
    isReplacing = true;
    while (isAsked && !isStopping) {
      isAsked = false;
      askedAgain = Promise.withResolvers();
      await replaceAll();
    }
    isReplacing = false;
  }
  const hungUp = Promise.withResolvers<void>();
  const onHangup = () => void (isTerminalClosed(io) ? hungUp.resolve() : reload());
  process.on('SIGHUP', onHangup);

  try {
    for (let i = 1; i <= count; i++) start(String(i));
    await Promise.race([stopped, hungUp.promise, failed.promise]);
  } finally {
    isStopping = true;
    process.off('SIGHUP', onHangup);
    for (const worker of workers) if (worker.isConnected()) worker.send('stop');
    const end = performance.now() + shutdownTimeout + grace;
    while (workers.size > 0 && performance.now() < end) await sleep(20);
    kill();
    process.off('exit', kill);
  }
}

function notReplaced(replaced: number, count: number): string {
  const rest = `the other ${count - replaced} of ${count} workers were not restarted, and keep serving`;
  return `a new worker could not start; ${rest}. Fix the error above, and send SIGHUP again`;
}

/** SIGHUP also means that the terminal was closed. Then the process has no terminal any more. */
function isTerminalClosed({ stdout, stderr }: Io): boolean {
  if (!stdout.isTTY && !stderr.isTTY) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}
