import { callThenEnd } from '../database/promise-like.ts';
import type { Guard } from './guard.ts';

/** Called when an access check begins. The returned function is called when it has ended. */
export type AccessWatch = () => (error?: unknown) => void;

/** The same guard, watched. A public guard checks nothing. */
export function watchedGuard(guard: Guard, watch: AccessWatch): Guard {
  if (guard.public) return guard;
  return Object.freeze({ ...guard, check: watchedCall(guard.check, watch), grants: watchedCall(guard.grants, watch) });
}

/** The same function, watched until it returns, or until its promise settles. */
export function watchedCall<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
  watch: AccessWatch,
): (...args: Args) => Result {
  return (...args) => callThenEnd(() => call(...args), watch());
}
