import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Statement } from '../../database/executor.ts';
import { takeNext } from '../../database/next-task.ts';
import { closedError, lostError, tooLongError } from '../../database/unavailable.ts';
import type { Answer, Opened, Question, ReaderThreadData, RowForm } from './reader-thread.ts';

/** The most threads at once; each is started when it is first needed. */
const threadLimit = 2;

/** What a thread was asked for, until it is answered. */
interface Task {
  readonly statement: Statement;
  readonly question: NonNullable<Question>;
  readonly settle: (result: Answer | Error) => void;
}

interface Thread {
  readonly worker: Worker;
  /** Resolves when it has ended. */
  readonly ended: Promise<unknown>;
  task: Task | null;
  isOpen: boolean;
}

/** No thread can be had here, so that whoever asked has to do it without. */
export class NoThreads extends Error {}

/** Reads a SQLite file in threads of their own, so that a statement that takes long holds up nothing else. */
export class ReaderThreads {
  readonly #data: ReaderThreadData;
  readonly #timeout: number;
  readonly #threads: Thread[] = [];
  readonly #waiting: Task[] = [];
  #state: 'open' | 'closed' | 'impossible' = 'open';

  /** With a timeout, whoever has waited for so many milliseconds waits no longer; 0 means no limit. */
  constructor(data: ReaderThreadData, timeout: number) {
    this.#data = data;
    this.#timeout = timeout;
  }

  get arePossible(): boolean {
    return this.#state !== 'impossible';
  }

  /** Statements that wait for a thread, or for their rows. */
  get underWay(): number {
    return this.#waiting.length + this.#threads.reduce((sum, { task }) => sum + (task ? 1 : 0), 0);
  }

  /** The rows of a statement, and the milliseconds that it took. What was committed before the call is in them. */
  async rows<Row>(statement: Statement, parameters: readonly unknown[], as: RowForm): Promise<{ rows: Row[]; took: number }> {
    const answer = await this.#ask({ statement, parameters, as });
    if ('rows' in answer) return answer as { rows: Row[]; took: number };
    throw Object.assign(new Error(answer.error.message), answer.error.properties);
  }

  /** Answers what is under way, and ends the threads. */
  async close(): Promise<void> {
    this.#state = 'closed';
    for (const task of this.#waiting.splice(0)) task.settle(closedError());
    for (const { worker } of this.#threads) {
      worker.ref();
      worker.postMessage(null);
    }
    await Promise.all(this.#threads.map(({ ended }) => ended));
  }

  #ask(question: NonNullable<Question>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const task: Task = {
        statement: question.statement,
        question,
        settle: (result) => {
          clearTimeout(timer);
          if (result instanceof Error) reject(result);
          else resolve(result);
        },
      };
      // SQLite cannot be told to stop, so that a statement under way keeps its thread until it ends
      if (this.#timeout > 0) timer = setTimeout(() => this.#giveUp(task), this.#timeout);
      this.#waiting.push(task);
      this.#proceed();
    });
  }

  #giveUp(task: Task): void {
    const place = this.#waiting.indexOf(task);
    if (place >= 0) this.#waiting.splice(place, 1);
    task.settle(tooLongError());
  }

  #proceed(): void {
    if (this.#state !== 'open') {
      const error = this.#state === 'closed' ? closedError() : new NoThreads();
      for (const task of this.#waiting.splice(0)) task.settle(error);
      return;
    }
    while (this.#waiting.length > 0) {
      const thread = this.#threads.find(({ task }) => task === null) ?? this.#start();
      if (!thread) return;
      const task = takeNext(
        this.#waiting,
        this.#threads.map((other) => other.task),
      );
      try {
        thread.worker.postMessage(task.question);
        thread.task = task;
        // a thread that has nothing to do does not keep the process alive
        thread.worker.ref();
      } catch (error) {
        task.settle(error as Error);
      }
    }
  }

  #start(): Thread | null {
    if (this.#threads.length >= threadLimit) return null;
    const worker = new Worker(new URL(`./reader-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: this.#data,
      // what was asked of the main thread, like a profile or a debugger, was not asked of this one
      execArgv: [],
    });
    let failure: unknown;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    const thread: Thread = { worker, ended, task: null, isOpen: false };
    worker.on('message', (answer: Answer | Opened) => {
      if (answer === 'opened') {
        thread.isOpen = true;
        return;
      }
      const { task } = thread;
      thread.task = null;
      worker.unref();
      this.#proceed();
      task?.settle(answer);
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => {
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      if (!thread.isOpen && this.#state === 'open') this.#state = 'impossible';
      thread.task?.settle(this.#state === 'impossible' ? new NoThreads() : lostError(failure));
      this.#proceed();
    });
    this.#threads.push(thread);
    return thread;
  }
}
