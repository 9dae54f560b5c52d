import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { patienceHere, waitsForItself } from '../../database/own-transaction.ts';
import { lateError } from '../../database/unavailable.ts';

/** How long a statement waits for another process's write to end, in milliseconds. */
export const busyTimeout = 5000;

/** How long the first statement that meets one holds up this process for it, and how long those after it. */
export const firstWait = 20;
const shortWait = 2;

/** A transaction that takes longer than these milliseconds to begin had to wait. */
const noticeable = 5;

/** Waits for other processes that write. SQLite would wait as well, but holds up the whole process meanwhile. */
export class OtherProcesses {
  #areKnown = false;

  /** Begins a transaction that writes. */
  begin(db: DatabaseSync, statement: string): void | Promise<void> {
    const start = this.#areKnown ? 0 : performance.now();
    const waiting = this.whenFree(db, () => db.exec(statement));
    if (!this.#areKnown && performance.now() - start > noticeable) this.#know(db);
    return waiting;
  }

  /** Does what another process may be in the way of, at once or as soon as it is not. */
  whenFree<Result>(db: DatabaseSync, work: () => Result): Result | Promise<Result> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      this.#know(db);
      return this.#again(work);
    }
  }

  /** From now on SQLite says at once that somebody is in the way. */
  #know(db: DatabaseSync): void {
    if (!this.#areKnown) db.exec(`pragma busy_timeout = ${shortWait}`);
    this.#areKnown = true;
  }

  async #again<Result>(work: () => Result): Promise<Result> {
    const end = performance.now() + busyTimeout - firstWait;
    for (let pause = 1; ; pause = Math.min(2 * pause, 20)) {
      // a random share keeps processes that wait from retrying together
      await sleep(pause * (0.5 + Math.random()));
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= end) throw error;
      }
    }
  }
}

function isBusy(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && (Number(errcode) & 0xff) === 5;
}

/** Hands out the right to write, one at a time, in the order asked for. */
export class Turn {
  readonly #timeout: number;
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** @param timeout Milliseconds that anybody waits; 0 means no limit. */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  get waiting(): number {
    return this.#waiting.length + (this.#taken ? 1 : 0);
  }

  take(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const patience = patienceHere();
    const limit = patience ?? this.#timeout;
    if (limit === 0) return promise;
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
      reject(patience === null ? lateError() : waitsForItself());
    }, limit);
    return promise.finally(() => clearTimeout(timer));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}
