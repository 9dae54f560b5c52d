import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { takeNext } from '../../database/next-task.ts';
import { TooLargeError } from '../../database/too-large.ts';
import { closedError, lateError, lostError, tooLongError } from '../../database/unavailable.ts';
import type { Question, Sent } from './reader.ts';
import type { Answer, ThreadMessage } from './reader-thread.ts';

/** The most statements that are read at once; a snapshot has a thread beside these. */
const mostReads = 3;

/** Those of them that may take long, so that a short one need not wait for them. */
const mostLong = 2;

/** Milliseconds up to which a read is a short one. What can be stopped is, and begins again as a long one. */
const short = 250;

/** Reads that may wait for a thread. */
const mostWaiting = 200;

/** Threads that are kept while they have nothing to do. */
const keptThreads = 3;

/** Threads that may go on with what nobody waits for any more. */
const mostAbandoned = 4;

/** Milliseconds that a thread has to come to an end with what took too long, before it is given up. */
const grace = 1000;

/** What is known of a statement before it is read. */
export interface Expectation {
  /** Whether SQLite can be stopped while it reads the rows. */
  readonly isStoppable: boolean;
  /** Milliseconds; undefined if nothing is known. */
  readonly expected: number | undefined;
}

/** A statement that waits for a thread, or for its rows. */
interface Task {
  /** The name of its statement. */
  readonly kind: string;
  readonly sent: Sent;
  readonly isStoppable: boolean;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** When it is given up. */
  readonly until: number;
  isLong: boolean;
  thread: ReaderThread | null;
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
  readonly #waiting: Readonly<Record<'short' | 'long', Task[]>> = { short: [], long: [] };
  readonly #running = new Set<Task>();
  #abandoned = 0;
  #state: 'open' | 'closed' | 'impossible' = 'open';

  /** @param timeout Milliseconds after which a read is stopped and rejected; 0 means no limit. */
  constructor(file: string, timeout: number) {
    this.#file = file;
    this.#timeout = timeout > 0 ? timeout : Number.POSITIVE_INFINITY;
  }

  /** Statements that wait for a thread, or for their rows. */
  get underWay(): number {
    return this.#waitingCount + this.#running.size;
  }

  /** The rows of a statement, and the milliseconds that it took. What was committed before the call is in them. */
  rows(sent: Sent, { expected, isStoppable }: Expectation): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waitingCount >= mostWaiting) throw lateError();
      const isLong = expected === undefined ? !isStoppable : expected > short;
      const until = performance.now() + this.#timeout;
      const task: Task = { kind: sent.statement.name, sent, isStoppable, resolve, reject, until, isLong, thread: null };
      if (this.#timeout < Number.POSITIVE_INFINITY) task.timer = setTimeout(() => this.#giveUp(task), this.#timeout);
      this.#wait(task);
      this.#proceed();
    });
  }

  /** A thread for a caller with several questions, who gives it back. */
  take(): ReaderThread {
    if (this.#state !== 'open') throw this.#refusal();
    if (this.#abandoned >= mostAbandoned) throw lateError();
    const thread = this.#idle.pop() ?? new ReaderThread(this.#file, () => this.#forget(thread));
    this.#threads.add(thread);
    return thread;
  }

  giveBack(thread: ReaderThread): void {
    if (!this.#threads.has(thread)) return;
    if (this.#state === 'open' && this.#idle.length < keptThreads) this.#idle.push(thread);
    else thread.end();
  }

  /** Asks a thread that was taken. One that takes longer than the timeout is given up, with what it is doing. */
  async ask(thread: ReaderThread, question: Question): Promise<unknown[]> {
    const timer = this.#timeout < Number.POSITIVE_INFINITY ? setTimeout(() => this.#abandon(thread), this.#timeout) : undefined;
    try {
      return ((await thread.ask(question)) as Answer).rows;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Answers what is under way, and ends the threads. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#proceed();
    await Promise.all(Array.from(this.#threads, (thread) => thread.end()));
  }

  get #waitingCount(): number {
    return this.#waiting.short.length + this.#waiting.long.length;
  }

  #wait(task: Task): void {
    this.#waiting[task.isLong ? 'long' : 'short'].push(task);
  }

  #giveUp(task: Task): void {
    const waiting = this.#waiting[task.isLong ? 'long' : 'short'];
    const place = waiting.indexOf(task);
    if (place >= 0) waiting.splice(place, 1);
    else if (task.thread) task.timer = setTimeout(() => this.#abandon(task.thread as ReaderThread), grace);
    task.reject(tooLongError());
  }

  /** What it was asked is rejected; it ends when SQLite has come to an end. */
  #abandon(thread: ReaderThread): void {
    if (!this.#threads.delete(thread)) return;
    this.#abandoned++;
    thread.abandon();
  }

  #proceed(): void {
    if (this.#state !== 'open')
      for (const waiting of Object.values(this.#waiting)) for (const task of waiting.splice(0)) task.reject(this.#refusal());
    while (this.#running.size < mostReads && this.#abandoned < mostAbandoned) {
      const next = this.#next();
      if (!next) return;
      void this.#run(next);
    }
  }

  /** Long ones never have all threads, and short ones never keep them all while long ones wait. */
  #next(): Task | null {
    const { long, short } = this.#waiting;
    const longRunning = Array.from(this.#running).filter(({ isLong }) => isLong).length;
    const isForLong = long.length > 0 && longRunning < mostLong;
    const isShortFirst = short.length > 0 && (!isForLong || this.#running.size === longRunning);
    if (isShortFirst) return takeNext(short, this.#running);
    return isForLong ? takeNext(long, this.#running) : null;
  }

  async #run(task: Task): Promise<void> {
    this.#running.add(task);
    const thread = this.take();
    task.thread = thread;
    let answer: Reply | null = null;
    try {
      answer = await thread.ask(this.#questionOf(task));
    } catch (error) {
      task.reject(error);
    }
    task.thread = null;
    this.#running.delete(task);
    this.giveBack(thread);
    if (answer === 'stopped' && !task.isLong && performance.now() < task.until) {
      task.isLong = true;
      this.#wait(task);
    } else {
      clearTimeout(task.timer);
      if (answer === 'stopped') task.reject(tooLongError());
      else if (answer === 'too large') task.reject(new TooLargeError(task.sent.mostBytes as number));
      else if (answer) task.resolve(answer);
    }
    this.#proceed();
  }

  #questionOf({ isLong, isStoppable, sent, until }: Task): Question {
    if (!isStoppable) return sent;
    const left = Math.max(0, until - performance.now());
    return { ...sent, limit: isLong ? left : Math.min(left, short) };
  }

  /** A thread has ended. */
  #forget(thread: ReaderThread): void {
    const isAbandoned = !this.#threads.delete(thread);
    if (isAbandoned) this.#abandoned--;
    const place = this.#idle.indexOf(thread);
    if (place >= 0) this.#idle.splice(place, 1);
    if (!isAbandoned && !thread.hasOpened && this.#state === 'open') this.#state = 'impossible';
    this.#proceed();
  }

  #refusal(): Error {
    return this.#state === 'closed' ? closedError() : new NoThreads();
  }
}

type Reply = Answer | 'stopped' | 'too large';

/** One thread, which handles questions in their order. */
export class ReaderThread {
  /** Whether it could open the file. */
  hasOpened = false;
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  readonly #asked: PromiseWithResolvers<Reply>[] = [];
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
      this.#lose(this.hasOpened ? lostError(failure) : new NoThreads());
    });
    this.#worker = worker;
  }

  async ask(question: Question): Promise<Reply> {
    if (this.#lost) throw this.#lost;
    this.#worker.postMessage(question);
    // a thread that has nothing to do does not keep the process alive
    this.#worker.ref();
    const asked = Promise.withResolvers<Reply>();
    this.#asked.push(asked);
    return asked.promise;
  }

  /** Ends the thread after what it was asked. */
  async end(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage(null);
    await this.#ended;
  }

  /** Ends the thread as soon as it can be, and nobody waits for it. */
  abandon(): void {
    this.#lose(tooLongError());
    this.#worker.unref();
    void this.#worker.terminate();
  }

  #lose(error: Error): void {
    this.#lost ??= error;
    for (const { reject } of this.#asked.splice(0)) reject(error);
  }

  #settle(message: Exclude<ThreadMessage, 'opened'>): void {
    const asked = this.#asked.shift();
    if (this.#asked.length === 0) this.#worker.unref();
    if (typeof message === 'object' && 'error' in message)
      asked?.reject(Object.assign(new Error(message.error.message), message.error.properties));
    else asked?.resolve(message);
  }
}
