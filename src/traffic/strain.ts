import type { EventLoopUtilization } from 'node:perf_hooks';

/** The part of its time for which the event loop has something to do when it cannot keep up. */
const fullyUsed = 0.95;

/** Statements that the database has not answered, from which on more of them only wait for each other. */
const manyStatements = 32;

/** Looks in a row after which it is no passing matter. */
const inARow = 2;

/** Tells whether the process or the database has more to do than it can, from one look to the next. */
export class Strain {
  readonly #statementsUnderWay: () => number;
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  #strained = 0;
  #isStrained = false;

  constructor(statementsUnderWay: () => number) {
    this.#statementsUnderWay = statementsUnderWay;
  }

  /** Forgets what was before. */
  begin(): void {
    this.#before = performance.eventLoopUtilization();
    this.#strained = 0;
    this.#isStrained = false;
  }

  look(): boolean {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    const isNow = utilization >= fullyUsed || this.#statementsUnderWay() >= manyStatements;
    // both ways a change takes two looks
    this.#strained = isNow === this.#isStrained ? 0 : this.#strained + 1;
    if (this.#strained >= inARow) {
      this.#isStrained = isNow;
      this.#strained = 0;
    }
    return this.#isStrained;
  }
}
