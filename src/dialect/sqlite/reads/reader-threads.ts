import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { takeNext } from '../../../database/next-task.ts';
import { TooLargeError } from '../../../database/too-large.ts';
import { closedError, lateError, lostError, tooLongError } from '../../../database/unavailable.ts';
import type { Question, Sent } from './reader.ts';
import { nextPart, type ReadResult, type ThreadMessage } from './thread-messages.ts';

/** The most statements that run at once. Snapshots have further threads. */
const mostReads = 3;

/** The most long statements among them, so that short ones need not wait for all of them. */
const mostLong = 2;

/** Milliseconds up to which a read is short. Beyond them a stoppable read is stopped, and starts again as a long one. */
const shortReadTime = 250;

/** The most reads that may wait for a thread; further ones are rejected. */
const mostWaiting = 200;

/** The most idle threads that are kept. */
const maxIdleThreads = 3;

/** The most threads that may still run statements that have timed out. */
const mostAbandoned = 4;

/** Milliseconds that a thread has to finish a statement that has timed out, before the thread is abandoned. */
const gracePeriod = 1000;

/** The expected behaviour of a statement, before it is read. */
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
  readonly resolve: (answer: ReadResult) => void;
  readonly reject: (error: unknown) => void;
  /** When it times out. */
  readonly deadline: number;
  isLong: boolean;
  thread: ReaderThread | null;
  timer?: NodeJS.Timeout;
}

/** Threads cannot be started here: the caller has to read without one. */
export class NoThreads extends Error {}

/** Reads a SQLite file in worker threads, so that a long statement blocks nothing else. */
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

  /** The rows of a statement, and the milliseconds that it took. They include everything that was committed before the call. */
  rows(sent: Sent, { expected, isStoppable }: Expectation): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      if (this.#waitingCount >= mostWaiting) throw lateError();
      const isLong = expected === undefined ? !isStoppable : expected > shortReadTime;
      const deadline = performance.now() + this.#timeout;
      const task: Task = { kind: sent.statement.name, sent, isStoppable, resolve, reject, deadline, isLong, thread: null };
      if (this.#timeout < Number.POSITIVE_INFINITY) task.timer = setTimeout(() => this.#timeOut(task), this.#timeout);
      this.#wait(task);
      this.#proceed();
    });
  }

  /** A thread for several questions, to be returned by {@link giveBack}. */
  take(): ReaderThread {
    if (this.#state !== 'open') throw this.#refusal();
    if (this.#abandoned >= mostAbandoned) throw lateError();
    const thread = this.#idle.pop() ?? new ReaderThread(this.#file, () => this.#forget(thread));
    this.#threads.add(thread);
    return thread;
  }

  giveBack(thread: ReaderThread): void {
    if (!this.#threads.has(thread)) return;
    if (this.#state === 'open' && this.#idle.length < maxIdleThreads) this.#idle.push(thread);
    else thread.end();
  }

  /** Sends a question to a thread from {@link take}. The thread is abandoned if it exceeds the timeout. */
  async ask(thread: ReaderThread, question: Question): Promise<unknown[]> {
    const timer = this.#timeout < Number.POSITIVE_INFINITY ? setTimeout(() => this.#abandon(thread), this.#timeout) : undefined;
    try {
      return ((await thread.ask(question)) as ReadResult).rows;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Rejects waiting statements, lets the running ones finish, and ends the threads. */
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

  #timeOut(task: Task): void {
    const waiting = this.#waiting[task.isLong ? 'long' : 'short'];
    const place = waiting.indexOf(task);
    if (place >= 0) waiting.splice(place, 1);
    else if (task.thread) task.timer = setTimeout(() => this.#abandon(task.thread as ReaderThread), gracePeriod);
    task.reject(tooLongError());
  }

  /** Rejects the pending questions of a thread. The thread ends when SQLite returns. */
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

  /** Long statements never occupy all threads, and neither do short ones while long ones wait. */
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
    let reply: Reply | null = null;
    try {
      reply = await thread.ask(this.#questionOf(task));
    } catch (error) {
      task.reject(error);
    }
    task.thread = null;
    this.#running.delete(task);
    this.giveBack(thread);
    if (reply === 'stopped' && !task.isLong && performance.now() < task.deadline) {
      task.isLong = true;
      this.#wait(task);
    } else {
      clearTimeout(task.timer);
      if (reply === 'stopped') task.reject(tooLongError());
      else if (reply === 'too large') task.reject(new TooLargeError(task.sent.mostBytes as number));
      else if (reply) task.resolve(reply);
    }
    this.#proceed();
  }

  #questionOf({ deadline, isLong, isStoppable, sent }: Task): Question {
    if (!isStoppable) return sent;
    const left = Math.max(0, deadline - performance.now());
    return { ...sent, limit: isLong ? left : Math.min(left, shortReadTime) };
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

type Reply = ReadResult | 'stopped' | 'too large';

interface Pending {
  readonly question: Question;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/** One thread, which handles questions in their order. */
export class ReaderThread {
  /** Whether it could open the file. */
  hasOpened = false;
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  /** The first one was sent. The others wait, so that rows that come in parts belong to it. */
  readonly #pending: Pending[] = [];
  #parts: unknown[][] = [];
  #isEnding = false;
  #failure: Error | null = null;

  constructor(file: string, onEnd: () => void) {
    const worker = new Worker(new URL(`./reader-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: file,
      // options of the main thread, such as for a profile or a debugger, are not meant for this one
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
      this.#fail(this.hasOpened ? lostError(failure) : new NoThreads());
    });
    this.#worker = worker;
  }

  async ask(question: Question): Promise<Reply> {
    if (this.#failure) throw this.#failure;
    const { promise, reject, resolve } = Promise.withResolvers<Reply>();
    // throws if a parameter cannot be sent to a thread
    if (this.#pending.length === 0) this.#send(question);
    this.#pending.push({ question, reject, resolve });
    return promise;
  }

  #send(question: Question | typeof nextPart): void {
    this.#worker.postMessage(question);
    // only a busy thread keeps the process alive
    this.#worker.ref();
  }

  /** Ends the thread after its pending questions. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#worker.ref();
    if (this.#pending.length === 0) this.#worker.postMessage(null);
    await this.#ended;
  }

  /** Rejects the pending questions, and ends the thread as soon as possible without waiting for it. */
  abandon(): void {
    this.#fail(tooLongError());
    this.#worker.unref();
    void this.#worker.terminate();
  }

  /** Sends the next question, or lets the thread rest. */
  #proceed(): void {
    for (let next = this.#pending[0]; next; next = this.#pending[0]) {
      try {
        this.#send(next.question);
        return;
      } catch (error) {
        this.#pending.shift();
        next.reject(error);
      }
    }
    if (this.#isEnding) this.#worker.postMessage(null);
    else this.#worker.unref();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }

  #settle(message: Exclude<ThreadMessage, 'opened'>): void {
    if (typeof message === 'object' && 'isPart' in message) {
      this.#parts.push(message.rows);
      // messages that arrive during this turn would be handled in it
      setImmediate(() => {
        if (!this.#failure) this.#send(nextPart);
      });
      return;
    }
    const pending = this.#pending.shift();
    const parts = this.#parts;
    this.#parts = [];
    this.#proceed();
    if (typeof message === 'object' && 'rows' in message && parts.length > 0)
      pending?.resolve({ ...message, rows: [...parts, message.rows].flat() });
    else if (typeof message === 'object' && 'error' in message)
      pending?.reject(Object.assign(new Error(message.error.message), message.error.properties));
    else pending?.resolve(message);
  }
}
