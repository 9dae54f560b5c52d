import type { Dialect } from '../../dialect/dialect.ts';
import type { Statement } from '../executor.ts';

/** The maximum number of rows that are removed at once, to keep locks short. */
export const removalStep = 200;

/** Milliseconds between two removals of expired rows, and between the steps of one. */
export const removalPace = Object.freeze({ interval: 60_000, pause: 50 });

/** A table of Declarest itself whose rows expire. */
interface Expiring {
  readonly table: string;
  readonly key: string;
  /** The column with the time at which a row expires, in milliseconds. */
  readonly time: string;
}

/**
 * Removes some expired rows. Its parameters are the current time, and the latest time at which a row can expire: a row that
 * expires later was written while a clock was wrong. Several processes can run it concurrently.
 */
export function removalOf({ sql }: Dialect, name: string, { key, table, time }: Expiring): Statement {
  const [past, future] = [sql.typedParameter(1, 'bigint'), sql.typedParameter(2, 'bigint')];
  const some = `select ${key} from ${table} where ${time} <= ${past} or ${time} > ${future} limit ${removalStep}${sql.skipLocked}`;
  return { name, text: `delete from ${table} where ${key} in (${some}) returning 1`, wide: false };
}

/** Runs a removal at intervals, and again after a pause while it returns true. It does not keep the process alive. */
export class RemovalTimer {
  readonly #remove: () => Promise<boolean>;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(remove: () => Promise<boolean>) {
    this.#remove = remove;
    this.#wait(removalPace.interval);
  }

  #wait(time: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, time).unref();
  }

  async #run(): Promise<void> {
    // rows that could not be removed now are removed the next time
    const isMore = await this.#remove().catch(() => false);
    this.#wait(isMore ? removalPace.pause : removalPace.interval);
  }

  /** Stops the timer, and waits for a running removal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#running;
  }
}
