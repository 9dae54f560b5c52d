import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownTransactionTimeout, waitsForItself } from '../../database/own-transaction.ts';
import { lateError } from '../../database/unavailable.ts';

/** How long a statement waits for another process's write to end, in milliseconds. */
export const busyTimeout = 5000;

/** Milliseconds that SQLite may block this process for another process's write, until such a write was noticed. */
export const firstWait = 20;

/** The same after that. */
const shortWait = 2;

/** A transaction that takes longer than these milliseconds to begin had to wait. */
const waitThreshold = 5;

/** Waits for other processes that write. SQLite would wait as well, but blocks the whole process meanwhile. */
export class OtherProcesses {
  #areNoticed = false;

  /** Begins a transaction that writes. */
  begin(db: DatabaseSync, statement: string): void | Promise<void> {
    const start = this.#areNoticed ? 0 : performance.now();
    const waiting = this.whenFree(db, () => db.exec(statement));
    if (!this.#areNoticed && performance.now() - start > waitThreshold) this.#shortenBusyTimeout(db);
    return waiting;
  }

  /** Runs work that needs the write lock, at once or as soon as no other process holds it. */
  whenFree<Result>(db: DatabaseSync, work: () => Result): Result | Promise<Result> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      this.#shortenBusyTimeout(db);
      return this.#retry(work);
    }
  }

  /** From now on SQLite reports almost at once that another process holds the lock. */
  #shortenBusyTimeout(db: DatabaseSync): void {
    if (!this.#areNoticed) db.exec(`pragma busy_timeout = ${shortWait}`);
    this.#areNoticed = true;
  }

  async #retry<Result>(work: () => Result): Promise<Result> {
    const end = performance.now() + busyTimeout - firstWait;
    for (let pause = 1; ; pause = Math.min(2 * pause, 20)) {
      // a random share keeps waiting processes from retrying at the same time
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

/** The write lock among the callers in this process, granted in the order of their requests. */
export class Turn {
  readonly #timeout: number;
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** @param timeout Milliseconds that a caller waits for the lock; 0 means no limit. */
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
    const ownTimeout = ownTransactionTimeout();
    const limit = ownTimeout ?? this.#timeout;
    if (limit === 0) return promise;
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
      reject(ownTimeout === null ? lateError() : waitsForItself());
    }, limit);
    return promise.finally(() => clearTimeout(timer));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}
