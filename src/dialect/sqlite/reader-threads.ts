import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Statement } from '../../database/executor.ts';
import { takeNext } from '../../database/next-task.ts';
import { closedError, lostError, tooLongError } from '../../database/unavailable.ts';
import type { RowForm } from './prepared-reads.ts';
import type { Question } from './reader.ts';
import type { Answer, ThreadMessage } from './reader-thread.ts';

/** The most statements that are read at once; a cursor has a thread beside these. */
const mostReads = 2;

/** Threads that are kept while they have nothing to do. */
const keptThreads = 2;

/** A statement that waits for a thread, or for its rows. */
interface Task {
  /** The name of its statement. */
  readonly kind: string;
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

/** Threads cannot be started here: the caller has to read without one. */
export class NoThreads extends Error {}

/** Reads a SQLite file in threads of their own, so that a statement that takes long holds up nothing else. */
export class ReaderThreads {
  readonly #file: string;
  readonly #timeout: number;
  readonly #threads = new Set<ReaderThread>();
  readonly #idle: ReaderThread[] = [];
  readonly #waiting: Task[] = [];
  readonly #running = new Set<Task>();
  #state: 'open' | 'closed' | 'impossible' = 'open';

  /** @param timeout Milliseconds after which a read is rejected; 0 means no limit. */
  constructor(file: string, timeout: number) {
    this.#file = file;
    this.#timeout = timeout;
  }

  /** Statements that wait for a thread, or for their rows. */
  get underWay(): number {
    return this.#waiting.length + this.#running.size;
  }

  /** The rows of a statement, and the milliseconds that it took. What was committed before the call is in them. */
  rows(statement: Statement, parameters: readonly unknown[], as: RowForm): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const task: Task = { kind: statement.name, question: { statement, parameters, as }, resolve, reject };
      // SQLite cannot be stopped: a running statement keeps its thread until it ends
      if (this.#timeout > 0) task.timer = setTimeout(() => this.#giveUp(task), this.#timeout);
      this.#waiting.push(task);
      this.#proceed();
    });
  }

  /** A thread for a caller with several questions, who gives it back. */
  take(): ReaderThread {
    if (this.#state !== 'open') throw this.#refusal();
    const thread = this.#idle.pop() ?? new ReaderThread(this.#file, () => this.#forget(thread));
    this.#threads.add(thread);
    return thread;
  }

  giveBack(thread: ReaderThread): void {
    if (!this.#threads.has(thread)) return;
    if (this.#state === 'open' && this.#idle.length < keptThreads) this.#idle.push(thread);
    else thread.end();
  }

  /** Answers what is under way, and ends the threads. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#proceed();
    await Promise.all(Array.from(this.#threads, (thread) => thread.end()));
  }

  #giveUp(task: Task): void {
    const place = this.#waiting.indexOf(task);
    if (place >= 0) this.#waiting.splice(place, 1);
    task.reject(tooLongError());
  }

  #proceed(): void {
    if (this.#state !== 'open') for (const task of this.#waiting.splice(0)) task.reject(this.#refusal());
    while (this.#waiting.length > 0 && this.#running.size < mostReads) this.#run(takeNext(this.#waiting, this.#running));
  }

  async #run(task: Task): Promise<void> {
    const thread = this.take();
    this.#running.add(task);
    try {
      task.resolve(await thread.ask(task.question));
    } catch (error) {
      task.reject(error);
    }
    clearTimeout(task.timer);
    this.#running.delete(task);
    this.giveBack(thread);
    this.#proceed();
  }

  /** A thread has ended. */
  #forget(thread: ReaderThread): void {
    this.#threads.delete(thread);
    const place = this.#idle.indexOf(thread);
    if (place >= 0) this.#idle.splice(place, 1);
    if (!thread.hasOpened && this.#state === 'open') this.#state = 'impossible';
  }

  #refusal(): Error {
    return this.#state === 'closed' ? closedError() : new NoThreads();
  }
}

/** One thread, which handles questions in their order. */
export class ReaderThread {
  /** Whether it could open the file. */
  hasOpened = false;
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  readonly #asked: PromiseWithResolvers<Answer>[] = [];
  #lost: Error | null = null;

  constructor(file: string, onEnd: () => void) {
    const worker = new Worker(new URL(`./reader-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: file,
      // what was asked of the main thread, like a profile or a debugger, was not asked of this one
      execArgv: [],
    });
    let failure: unknown;
    worker.on('message', (message: ThreadMessage) => {
      if (message === 'opened') this.hasOpened = true;
      else this.#settle(message);
    });
    worker.on('error', (error) => {
      failure = error;
    });
    this.#ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.once('exit', () => {
      onEnd();
      const lost = this.hasOpened ? lostError(failure) : new NoThreads();
      this.#lost = lost;
      for (const { reject } of this.#asked.splice(0)) reject(lost);
    });
    this.#worker = worker;
  }

  async ask(question: Question): Promise<Answer> {
    if (this.#lost) throw this.#lost;
    this.#worker.postMessage(question);
    // a thread that has nothing to do does not keep the process alive
    this.#worker.ref();
    const asked = Promise.withResolvers<Answer>();
    this.#asked.push(asked);
    return asked.promise;
  }

  /** Ends the thread after what it was asked. */
  async end(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage(null);
    await this.#ended;
  }

  #settle(message: Exclude<ThreadMessage, 'opened'>): void {
    const asked = this.#asked.shift();
    if (this.#asked.length === 0) this.#worker.unref();
    if ('error' in message) asked?.reject(Object.assign(new Error(message.error.message), message.error.properties));
    else asked?.resolve(message);
  }
}
