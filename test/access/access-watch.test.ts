import { expect, test } from 'vitest';
import { watchedCall } from '../../src/access/access-watch.ts';

const failure = new Error('refused');

test.each<[string, () => unknown, unknown[]]>([
  ['gives its result at once', () => 'granted', []],
  ['gives it later', async () => 'granted', []],
  [
    'fails at once',
    () => {
      throw failure;
    },
    [failure],
  ],
  ['fails later', () => Promise.reject(failure), [failure]],
])('a watched function that %s is observed until it ends, with the same outcome', async (_, call, told) => {
  const ends: unknown[][] = [];
  const watched = watchedCall(call, () => {
    ends.push([]);
    return (...given) => ends.at(-1)?.push(...given);
  });
  const outcome = (run: () => unknown) => new Promise((resolve) => resolve(run())).catch((error: unknown) => error);
  expect(await outcome(watched)).toBe(await outcome(call));
  expect(ends).toEqual([told]);
});
