import { expect, test } from 'vitest';
import { watchedCall, watchedGuard } from '../../src/access/access-watch.ts';
import { compileGuard } from '../../src/access/guard.ts';
import { createVoterRegistry } from '../../src/access/voter-registry.ts';
import { fakeRequest } from './fake-request.ts';

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

test('a watched guard reports each of its checks, and decides as before; a public one checks nothing', () => {
  const registry = createVoterRegistry({ voters: [], strategy: 'affirmative', roleHierarchy: {} });
  let checks = 0;
  const watch = () => {
    checks++;
    return () => {};
  };
  const user = { id: 'ann', roles: ['ROLE_A'] };
  const guard = watchedGuard(compileGuard(['ROLE_A'], registry), watch);
  expect(guard.roles).toEqual(['ROLE_A']);
  expect(guard.check(null, user, fakeRequest())).toBeUndefined();
  expect(() => guard.check(null, null, fakeRequest())).toThrow();
  expect(checks).toBe(2);
  expect(guard.grants(null, null, fakeRequest())).toBe(false);
  expect(checks).toBe(3);
  const open = watchedGuard(compileGuard([], registry), watch);
  open.check(null, null, fakeRequest());
  open.grants(null, null, fakeRequest());
  expect(checks).toBe(3);
});
