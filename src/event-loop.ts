/** Milliseconds of a turn of the event loop after which long work waits for the next one. */
const turnTime = 10;

/** When long work began in the current turn, as far as it asked {@link isTurnLong}. */
let began: number | null = null;

/** Work that waits for a turn, in order of arrival. */
const waiting: (() => void)[] = [];

/**
 * Whether the current turn of the event loop has lasted so long that work with further steps should wait: see {@link nextTurn}. All
 * work of a turn counts together, because requests on SQLite, and the parts of a request, follow one another without a turn.
 */
export function isTurnLong(): boolean {
  if (began !== null) return performance.now() - began >= turnTime;
  began = performance.now();
  setImmediate(onTurn);
  return false;
}

/**
 * Waits for a turn of the event loop. Work that waits continues in order of arrival, as much as fits into a turn. So other
 * requests are served in between, and wait for one piece of work at most.
 */
export function nextTurn(): Promise<void> {
  isTurnLong();
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

function onTurn(): void {
  began = null;
  proceed(waiting.length);
}

function proceed(count: number): void {
  if (waiting.length === 0 || isTurnLong() || count === 0) return;
  waiting.shift()?.();
  // once that work waits for something again
  queueMicrotask(() => process.nextTick(proceed, count - 1));
}

/** Maps items in several turns of the event loop, if there are many. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let i = 0; i < items.length; i++) {
    if (isTurnLong()) await nextTurn();
    results.push(map(items[i] as Item, i));
  }
  return results;
}

/** UTF-16 code units of a text that are written or hashed in one turn. */
export const turnLength = 1024 * 1024;

/**
 * Called while a long response is written, with its length so far and the fraction of its rows that were written. Waits for the
 * next turn; throws if the memory for responses is used up.
 */
export type Pace = (length: number, part: number) => Promise<void>;
