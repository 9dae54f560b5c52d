import type { EventLoopUtilization } from 'node:perf_hooks';

/** The part of its time for which the event loop has something to do when it cannot keep up. */
const fullyUsed = 0.95;

/** Statements that the database has not answered, from which on more of them only wait for each other. */
const manyStatements = 32;

/** Looks in a row after which it is over; it has begun with the first, since all that comes until then has to be served. */
const calmLooks = 2;

/** Tells whether the process or the database has more to do than it can, from one look to the next. */
export class LoadMonitor {
  readonly #statementsUnderWay: () => number;
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  /** Looks that are left until it is over. */
  #left = 0;

  constructor(statementsUnderWay: () => number) {
    this.#statementsUnderWay = statementsUnderWay;
  }

  /** Forgets what was before. */
  begin(): void {
    this.#before = performance.eventLoopUtilization();
    this.#left = 0;
  }

  look(): boolean {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    const isNow = utilization >= fullyUsed || this.#statementsUnderWay() >= manyStatements;
    this.#left = isNow ? calmLooks : Math.max(this.#left - 1, 0);
    return this.#left > 0;
  }
}
