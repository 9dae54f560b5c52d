const waiting: (() => void)[] = [];

function proceed(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(proceed);
}

/**
 * Waits for a turn of the event loop. Each turn goes to one export or one long response, however many there are. Other requests
 * are served in between and wait for one piece of work at most.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(proceed);
  });
}

/** Milliseconds of work after which other requests get a turn. */
const turnTime = 10;

/** Watches long work, so that it waits for another turn of the event loop now and then. */
export class LongWork {
  #since = performance.now();

  /** Whether the work should wait for another turn: see {@link pause}. */
  get isDue(): boolean {
    return performance.now() - this.#since >= turnTime;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }
}

/** UTF-16 code units of a text that are written or hashed in one turn. */
export const turnLength = 1024 * 1024;

/**
 * Called while a long response is written, with its length so far and the fraction of its rows that were written. Waits for the
 * next turn; throws if the memory for responses is used up.
 */
export type Pace = (length: number, part: number) => Promise<void>;
