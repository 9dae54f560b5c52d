import { expect, test } from 'vitest';
import { EarlyReply, hookNames, hookWith, overriddenHooks, runHook } from '../../src/actions/hooks.ts';
import { JsonReply } from '../../src/response/json-reply.ts';

type Any = any;

test('the hooks have a fixed calling order', () => {
  expect(hookNames).toEqual([
    'customizeQuery',
    'afterFetch',
    'checkAccess',
    'afterAccessCheck',
    'beforeValidation',
    'validate',
    'afterValidation',
    'afterCommit',
    'beforeSerialize',
  ]);
  expect(Object.isFrozen(hookNames)).toBe(true);
});

test('the hooks of a controller are those that it overrides', () => {
  const base: Any = Object.fromEntries(hookNames.map((name) => [name, () => undefined]));
  expect(overriddenHooks({ ...base }, base)).toEqual(new Set());
  for (const name of hookNames) expect(overriddenHooks({ ...base, [name]: () => undefined }, base)).toEqual(new Set([name]));
});

test.each([
  ['rows', ['afterFetch', 'beforeSerialize']],
  [
    'changes',
    ['afterFetch', 'afterAccessCheck', 'beforeValidation', 'validate', 'afterValidation', 'afterCommit', 'beforeSerialize'],
  ],
  ['replies', hookNames.filter((name) => name !== 'checkAccess' && name !== 'validate')],
] as const)('the hooks with the need "%s" are found in order', (need, names) => {
  expect(hookNames.filter((name) => hookWith([name], need) === name)).toEqual(names);
  expect(hookWith(hookNames, need)).toBe(names[0]);
  expect(
    hookWith(
      hookNames.filter((name) => !(names as readonly string[]).includes(name)),
      need,
    ),
  ).toBeUndefined();
});

test('a hook that returns a reply ends the action, at once or later', async () => {
  const reply = new JsonReply(1);
  for (const result of [reply, Promise.resolve(reply)]) {
    const early = await runHook(result).catch((error: unknown) => error);
    expect(early).toBeInstanceOf(EarlyReply);
    expect((early as EarlyReply).reply).toBe(reply);
  }
  for (const result of [undefined, Promise.resolve(null), { status: 200 }, new EarlyReply(reply)])
    expect(await runHook(result)).toBeUndefined();
});
