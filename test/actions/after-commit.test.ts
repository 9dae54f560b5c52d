import { expect, test } from 'vitest';
import { runAfterCommit, untilCommit } from '../../src/actions/after-commit.ts';
import { EarlyReply } from '../../src/actions/hooks.ts';
import { JsonReply } from '../../src/response/json-reply.ts';

type State = { afterCommit: (() => unknown)[] | null };

test('without a transaction, the hook runs at once, and its reply ends the request', async () => {
  const state: State = { afterCommit: null };
  const calls: string[] = [];
  await runAfterCommit(state, () => calls.push('hook'));
  expect(calls).toEqual(['hook']);
  await expect(runAfterCommit(state, async () => new JsonReply(1))).rejects.toBeInstanceOf(EarlyReply);
});

test('in transactions within each other, hooks run in order after the outermost commit', async () => {
  const state: State = { afterCommit: null };
  const calls: string[] = [];
  const result = await untilCommit(state, async () => {
    await runAfterCommit(state, () => calls.push('first'));
    const inner = await untilCommit(state, async () => {
      await runAfterCommit(state, async () => calls.push('second'));
      return 'inner';
    });
    await runAfterCommit(state, () => calls.push('third'));
    expect(calls).toEqual([]);
    return [inner];
  });
  expect([result, calls, state]).toEqual([['inner'], ['first', 'second', 'third'], { afterCommit: null }]);
});

test('hooks of work that fails do not run, and those before it do', async () => {
  const state: State = { afterCommit: null };
  const calls: string[] = [];
  const failing = async () => {
    await runAfterCommit(state, () => calls.push('rolled back'));
    throw new Error('rolled back');
  };
  await untilCommit(state, async () => {
    await runAfterCommit(state, () => calls.push('first'));
    await expect(untilCommit(state, failing)).rejects.toThrow('rolled back');
    await runAfterCommit(state, () => calls.push('second'));
  });
  expect([calls, state]).toEqual([['first', 'second'], { afterCommit: null }]);
  await expect(untilCommit(state, failing)).rejects.toThrow('rolled back');
  expect([calls, state]).toEqual([['first', 'second'], { afterCommit: null }]);
});
