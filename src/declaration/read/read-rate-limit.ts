import type { RateLimitDeclaration } from '../types.ts';

interface Written {
  readonly limit: number | undefined;
  readonly window: number;
  readonly by: 'user' | 'address';
}

/** A rate limit under the name that headers call it by; one without a number has been reported, and is none. */
export function readRateLimit(name: string, { limit, window, by }: Written): RateLimitDeclaration | null {
  return limit === undefined ? null : Object.freeze({ name, limit, window, by });
}
