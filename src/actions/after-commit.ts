import type { RequestState } from '../store/request-state.ts';
import { runHook } from './hooks.ts';

type Waiting = Pick<RequestState, 'afterCommit'>;

/** Calls an `afterCommit` hook: now, or after the commit of the transaction around it. */
export async function runAfterCommit({ afterCommit }: Waiting, hook: () => unknown): Promise<void> {
  if (afterCommit) afterCommit.push(hook);
  else await runHook(hook());
}

/** Runs work that ends with a commit. Its `afterCommit` hooks wait until then, and are not called if the work fails. */
export async function untilCommit<Result>(state: Waiting, work: () => Promise<Result>): Promise<Result> {
  const outer = state.afterCommit;
  const own: (() => unknown)[] = [];
  state.afterCommit = own;
  let result: Result;
  try {
    result = await work();
  } finally {
    state.afterCommit = outer;
  }
  for (const hook of own) await runAfterCommit(state, hook);
  return result;
}
