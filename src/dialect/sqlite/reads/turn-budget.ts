/** Milliseconds of one turn of the event loop that reads which are not short may take together. */
const maxTurnTime = 25;

/** Milliseconds of reads that may wait for a turn. */
const maxWaitingTime = 500;

/** Limits the time that reads take per turn of the event loop, so that other work of the process runs in between. */
export class TurnBudget {
  #spent = 0;
  #waitingTime = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  get isSpent(): boolean {
    return this.#spent >= maxTurnTime || this.#waiting.length > 0;
  }

  /** Whether a read may wait for a turn, by its expected cost in milliseconds. */
  hasRoom(cost: number): boolean {
    return this.#waitingTime + cost <= maxWaitingTime;
  }

  spend(milliseconds: number): void {
    this.#spent += milliseconds;
    this.#schedule();
  }

  /** Runs the read in a later turn, after those that wait already. */
  later<T>(cost: number, read: () => T | Promise<T>): Promise<T> {
    this.#waitingTime += cost;
    this.#schedule();
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        this.#waitingTime -= cost;
        try {
          resolve(read());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isScheduled = false;
    this.#spent = 0;
    while (this.#spent < maxTurnTime) {
      const read = this.#waiting.shift();
      if (!read) break;
      read();
    }
    if (this.#waiting.length > 0) this.#schedule();
  }
}
