import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isTurnLong, mapInTurns, nextTurn } from '../src/event-loop.ts';

// the time that `isTurnLong` measures passes only in `work`, however busy the machine is
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  await turn();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Occupies the process for some milliseconds. */
function work(milliseconds: number): void {
  vi.advanceTimersByTime(milliseconds);
}

/** Counts the turns of the event loop until work ends. */
async function turnsOf(working: Promise<unknown>): Promise<number> {
  let isOver = false;
  let count = 0;
  const done = working.finally(() => {
    isOver = true;
  });
  for (; !isOver; count++) await turn();
  await done;
  return count;
}

test('a turn is long once its work, all together, has taken long', async () => {
  await turn();
  expect(isTurnLong()).toBe(false);
  work(1);
  await Promise.resolve();
  expect(isTurnLong()).toBe(false);
  work(12);
  expect(isTurnLong()).toBe(true);
  await nextTurn();
  expect(isTurnLong()).toBe(false);
});

test('work that waits continues in order, and short work shares a turn', async () => {
  const order: number[] = [];
  const waits = async (id: number, milliseconds: number) => {
    await nextTurn();
    work(milliseconds);
    order.push(id);
  };
  const short = Array.from({ length: 100 }, (_, i) => waits(i, 0));
  const before = await turnsOf(Promise.all(short));
  expect(order).toEqual(Array.from({ length: 100 }, (_, i) => i));
  const long = Array.from({ length: 5 }, (_, i) => waits(i, 12));
  expect([before < 20, (await turnsOf(Promise.all(long))) >= 5]).toEqual([true, true]);
});

test('a list is mapped in order, and in several turns if that takes long', async () => {
  const items = Array.from({ length: 40 }, (_, i) => i);
  const mapped = mapInTurns(items, (item, index) => {
    work(1);
    return [item, index];
  });
  expect(await turnsOf(mapped)).toBeGreaterThan(2);
  expect(await mapped).toEqual(items.map((item) => [item, item]));
});

test('work that always waits for the next turn never keeps other requests waiting', async () => {
  let steps = 0;
  let isOver = false;
  const endless = (async () => {
    for (; !isOver && steps < 1000; steps++) await nextTurn();
  })();
  for (let i = 0; i < 3; i++) await turn();
  isOver = true;
  await endless;
  expect(steps).toBeLessThan(10);
});
