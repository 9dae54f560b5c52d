import type { Guard } from './guard.ts';
import { isPromiseLike } from './promise-like.ts';

/** Is told when the access of a request begins to be looked into; what comes back is called when that is over. */
export type AccessWatch = () => (error?: unknown) => void;

/** The same guard, watched. What lets everybody pass takes no time. */
export function watchedGuard(guard: Guard, watch: AccessWatch): Guard {
  if (guard.public) return guard;
  return Object.freeze({ ...guard, check: watchedCall(guard.check, watch) });
}

/** The same function, watched, be it that it gives its result at once or later. */
export function watchedCall<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
  watch: AccessWatch,
): (...args: Args) => Result {
  return (...args) => {
    const end = watch();
    let result: Result;
    try {
      result = call(...args);
    } catch (error) {
      end(error);
      throw error;
    }
    if (isPromiseLike(result)) result.then(() => end(), end);
    else end();
    return result;
  };
}
