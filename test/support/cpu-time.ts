import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of the processor that this thread has used. Other programs of the machine do not change them. */
export function cpuTime(): number {
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1000;
}

/** Milliseconds of the processor that work takes in this thread: in total, and in its longest turn of the event loop. */
export async function longestTurn(work: () => Promise<unknown>): Promise<{ readonly total: number; readonly longest: number }> {
  let isOver = false;
  let [longest, total] = [0, 0];
  const done = work().finally(() => {
    isOver = true;
  });
  for (let since = cpuTime(); !isOver; since = cpuTime()) {
    await nextTurn();
    const used = cpuTime() - since;
    longest = Math.max(longest, used);
    // a turn without work
    if (used > 0.5) total += used;
  }
  await done;
  return { total, longest };
}

const attempts = 3;

/**
 * The part of the processor time of work that its longest turn of the event loop takes. Work that exceeds `limit` is repeated up to
 * twice, and the smallest part counts: garbage collection and code that is not compiled yet make single turns longer, but work that is
 * not divided into turns takes long ones each time.
 */
export async function longestPart(
  limit: number,
  work: () => Promise<unknown>,
  prepare?: () => Promise<unknown>,
): Promise<number> {
  let smallest = 1;
  for (let attempt = 1; attempt <= attempts && smallest >= limit; attempt++) {
    await prepare?.();
    const { longest, total } = await longestTurn(work);
    smallest = Math.min(smallest, longest / total);
  }
  return smallest;
}
