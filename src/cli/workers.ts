import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../package-root.ts';
import { ApplicationFailure } from './failure.ts';
import { type Io, say } from './io.ts';

/** Says to a process that it is one of several, and which: 1, 2, and so on. */
const marker = 'DECLAREST_WORKER';

/** Milliseconds after which a worker that ended is started again: at first at once, and later each time it ended soon. */
const firstPause = 100;
const longestPause = 10_000;

/** Milliseconds after which a worker has proven itself. */
const proven = 10_000;

/** Milliseconds that workers have to end beyond the time that is declared, before they are ended. */
const grace = 1000;

/** Whether this process is one of several. */
export function isWorker(): boolean {
  return cluster.isWorker && process.env[marker] !== undefined;
}

/** Which of several processes this one is. One that was started in place of another is the same. */
export function workerName(): string {
  return process.env[marker] ?? '';
}

/** Tells the process that started this one where it listens. */
export function tellListening(address: string): void {
  process.send?.({ listening: address });
}

/**
 * Resolves once a worker is asked to stop. It is told by the process that started it, which may have been told so by a signal that
 * a terminal or a service manager sends to all of them: whoever is told twice does not stop faster.
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
  /** Milliseconds in which a worker has ended once it was asked to. */
  readonly shutdownTimeout: number;
  /** Called once all of them listen, with the address. */
  readonly onListening: (address: string) => void;
  /** Is told of each process that is started. */
  readonly onStart?: ((name: string, worker: Worker) => void) | undefined;
}

/**
 * Runs several processes behind one port, until it is asked to stop. One that ends is started again. Where one cannot be started in
 * the first place, all are ended.
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
  // a process that is killed takes its workers with it: the channel to them is cut
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
      // it has told the reason itself
      if (listening < count && !isListening) {
        failed.reject(new ApplicationFailure(`a worker ended with ${signal ?? `exit code ${code}`} before it listened`));
        return;
      }
      pause = performance.now() - startedAt >= proven ? 0 : Math.min(Math.max(2 * pause, firstPause), longestPause);
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
