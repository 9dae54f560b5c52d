import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../package-root.ts';
import { ApplicationFailure } from './failure.ts';
import { type Io, say } from './io.ts';

/** The environment variable with the number of a worker: 1, 2, and so on. */
const marker = 'DECLAREST_WORKER';

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

/**
 * Runs several workers behind one port until it is asked to stop. A worker that ends is restarted. If one fails before it first
 * listens, all are stopped.
 */
export async function runWorkers(
  { count, args, onListening, onStart, shutdownTimeout }: WorkersOptions,
  stopped: Promise<void>,
  io: Io,
): Promise<void> {
  cluster.setupPrimary({ exec: join(packageRoot, 'bin', 'declarest.js'), args: ['serve', ...args], cwd: io.cwd });
  const workers = new Set<Worker>();
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

  function start(name: string): void {
    const worker = cluster.fork({ ...io.env, [marker]: name });
    onStart?.(name, worker);
    const startedAt = performance.now();
    let isListening = false;
    workers.add(worker);
    worker.on('message', (message: { listening?: unknown } | null) => {
      if (typeof message?.listening !== 'string' || isListening) return;
      isListening = true;
      if (++listening === count) onListening(message.listening);
    });
    worker.on('exit', (code, signal) => {
      workers.delete(worker);
      if (isStopping) return;
      // the worker itself has printed the reason
      if (listening < count && !isListening) {
        failed.reject(new ApplicationFailure(`a worker ended with ${signal ?? `exit code ${code}`} before it listened`));
        return;
      }
      pause = performance.now() - startedAt >= stableAfter ? 0 : Math.min(Math.max(2 * pause, firstPause), longestPause);
      say(io.stderr, `worker ${worker.process.pid} ended with ${signal ?? `exit code ${code}`}; starting another in ${pause} ms`);
      setTimeout(() => {
        if (!isStopping) start(name);
      }, pause);
    });
  }

  try {
    for (let i = 1; i <= count; i++) start(String(i));
    await Promise.race([stopped, failed.promise]);
  } finally {
    isStopping = true;
    for (const worker of workers) if (worker.isConnected()) worker.send('stop');
    const end = performance.now() + shutdownTimeout + grace;
    while (workers.size > 0 && performance.now() < end) await sleep(20);
    kill();
    process.off('exit', kill);
  }
}
