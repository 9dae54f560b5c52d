import { takeNext } from '../../database/next-task.ts';
import { closedError, lateError } from '../../database/unavailable.ts';
import { isStale, type OnStatementEnd, PostgresLink } from './link.ts';
import type { PostgresDatabase } from './pooling.ts';

interface Task {
  /** Tasks of one kind do not keep those of another kind waiting. */
  readonly kind: string;
  readonly run: (link: PostgresLink) => Promise<void>;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

interface PoolOptions {
  readonly answered: OnStatementEnd;
  readonly most: number;
  /** Milliseconds to wait for a connection; 0: no limit. */
  readonly timeout: number;
}

/** Connections that are each used by one task at a time. */
export class LinkPool {
  readonly #database: PostgresDatabase;
  readonly #options: PoolOptions;
  readonly #links = new Set<PostgresLink>();
  readonly #idle: PostgresLink[] = [];
  readonly #waiting: Task[] = [];
  /** Not a set, which tasks would make old: see {@link ShortLivedMap}. */
  readonly #running: Task[] = [];
  #isClosed = false;

  constructor(database: PostgresDatabase, options: PoolOptions) {
    this.#database = database;
    this.#options = options;
  }

  get counts() {
    return { open: this.#links.size, used: this.#links.size - this.#idle.length, waiting: this.#waiting.length };
  }

  /** Runs work on a connection of its own, as soon as one is free. */
  use<Result>(work: (link: PostgresLink) => Promise<Result>, kind = ''): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const done = (link: PostgresLink) => {
        this.#running.splice(this.#running.indexOf(task), 1);
        this.giveBack(link);
      };
      const run = async (link: PostgresLink) => {
        try {
          const result = await work(link);
          done(link);
          resolve(result);
        } catch (error) {
          // the idle connections are likely to have the same stale statement
          if (isStale(error)) for (const other of [...this.#idle]) this.#drop(other);
          done(link);
          reject(error);
        }
      };
      const task: Task = { kind, run, reject };
      this.#waiting.push(task);
      this.#proceed();
      const { timeout } = this.#options;
      if (timeout > 0 && this.#waiting.includes(task)) task.timer = setTimeout(() => this.#timeOut(task), timeout);
    });
  }

  /** A connection for long use, to be returned by {@link giveBack}. It is available at once, even beyond `most` connections. */
  take(): PostgresLink {
    if (this.#isClosed) throw closedError();
    return this.#idle.pop() ?? this.#open();
  }

  giveBack(link: PostgresLink): void {
    if (link.isClean && this.#links.has(link) && !this.#isClosed) this.#idle.push(link);
    else this.#drop(link);
    this.#proceed();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#waiting.splice(0)) {
      clearTimeout(task.timer);
      task.reject(closedError());
    }
    await Promise.allSettled(Array.from(this.#links, (link) => link.end()));
  }

  #proceed(): void {
    while (this.#waiting.length > 0) {
      const link = this.#idle.pop() ?? (this.#links.size < this.#options.most ? this.#open() : undefined);
      if (!link) return;
      const task = takeNext(this.#waiting, this.#running);
      clearTimeout(task.timer);
      this.#running.push(task);
      void task.run(link);
    }
  }

  #timeOut(task: Task): void {
    this.#waiting.splice(this.#waiting.indexOf(task), 1);
    task.reject(lateError());
  }

  #open(): PostgresLink {
    const link: PostgresLink = new PostgresLink(this.#database, () => this.#forget(link), this.#options.answered);
    this.#links.add(link);
    return link;
  }

  #drop(link: PostgresLink): void {
    this.#forget(link);
    link.abandon();
  }

  #forget(link: PostgresLink): void {
    this.#links.delete(link);
    const place = this.#idle.indexOf(link);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#proceed();
  }
}
