import type { Plugin } from 'vite';
import { type PoolOptions, type PoolWorker, ThreadsPoolWorker, type WorkerRequest } from 'vitest/node';

/** Runs in one thread. What a mutant leaves in the state of modules ends with its thread. */
const mostRuns = 25;

/** A thread between two runs. */
interface ParkedThread {
  readonly worker: ThreadsPoolWorker;
  readonly project: string;
  readonly runs: number;
}

let parked: ParkedThread | null = null;

/**
 * A thread of Vitest that outlives a run, because most of the time of a mutant is loading the same modules again. A mutant in code that
 * runs at import still gets its own thread, and so does the run after a test that did not end.
 */
class WarmPoolWorker implements PoolWorker {
  readonly name = 'warm';
  readonly #project: string;
  readonly #isFresh: boolean;
  readonly #listeners: [event: string, callback: (...given: unknown[]) => void][] = [];
  #worker: ThreadsPoolWorker;
  #runs = 0;
  #isIdle = true;

  constructor(options: PoolOptions) {
    this.#worker = new ThreadsPoolWorker(options);
    this.#project = options.project.name;
    // what the runner of Stryker provides to its tests
    const { mode, mutantActivation } = options.project.getProvidedContext() as { mode?: string; mutantActivation?: string };
    this.#isFresh = mode !== 'mutant' || mutantActivation === 'static';
  }

  async start(): Promise<void> {
    const last = parked;
    parked = null;
    if (last && !this.#isFresh && last.project === this.#project && last.runs < mostRuns) {
      this.#worker = last.worker;
      this.#runs = last.runs;
    } else {
      await last?.worker.stop();
      await this.#worker.start();
    }
    this.on('message', (message: { readonly type?: string } | undefined) => {
      if (message?.type === 'testfileFinished') this.#isIdle = true;
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type of a listener in Vitest
  on(event: string, callback: (...given: any[]) => void): void {
    this.#listeners.push([event, callback]);
    this.#worker.on(event, callback);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type of a listener in Vitest
  off(event: string, callback: (...given: any[]) => void): void {
    this.#worker.off(event, callback);
  }

  send(message: WorkerRequest): void {
    if (message.type === 'stop' && this.#mayPark) {
      const stopped = { type: 'stopped', __vitest_worker_response__: true };
      for (const [event, callback] of this.#listeners) if (event === 'message') queueMicrotask(() => callback(stopped));
      return;
    }
    if (message.type === 'run') {
      this.#isIdle = false;
      this.#runs++;
    }
    this.#worker.send(message);
  }

  async stop(): Promise<void> {
    if (!this.#mayPark || parked) return this.#worker.stop();
    for (const [event, callback] of this.#listeners) this.#worker.off(event, callback);
    parked = { worker: this.#worker, project: this.#project, runs: this.#runs };
  }

  get #mayPark(): boolean {
    return this.#isIdle && !this.#isFresh;
  }

  deserialize(data: unknown): unknown {
    return this.#worker.deserialize(data);
  }
}

/** Lets projects that do not isolate their files keep a thread from one mutant to the next. */
export const warmPool: Plugin = {
  name: 'warm-pool',
  configureVitest({ project }) {
    if (project.config.isolate) return;
    project.config.pool = 'warm';
    project.config.poolRunner = { name: 'warm', createPoolWorker: (options) => new WarmPoolWorker(options) };
  },
};
