import { heed } from './hooks.ts';
import type { RequestState } from './request-state.ts';

type Waiting = Pick<RequestState, 'afterCommit'>;

/** Calls a hook that comes after the commit: now, or, within a larger transaction, when that is committed. */
export async function heedAfterCommit({ afterCommit }: Waiting, hook: () => unknown): Promise<void> {
  if (afterCommit) afterCommit.push(hook);
  else await heed(hook());
}

/** Runs work that ends with a commit. Hooks that come after it wait till then, and are not called where the work fails. */
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
  for (const hook of own) await heedAfterCommit(state, hook);
  return result;
}
