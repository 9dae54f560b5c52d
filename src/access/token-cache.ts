import { LruCache } from '../database/lru-cache.ts';
import type { User } from './user.ts';

/** A token whose signature was verified. Times are in seconds since 1970. */
interface VerifiedToken {
  readonly user: User;
  readonly notBefore: number;
  readonly expires: number;
}

/** Seconds after which a signature is checked again in any case, so that withdrawn keys stop working. */
const maxAge = 600;

/**
 * An LRU cache of verified tokens, by their whole text: forged tokens can neither fill it nor match an entry. It does not decide
 * what a token permits.
 */
export class TokenCache {
  readonly #entries: LruCache<VerifiedToken & { readonly forget: number }>;

  constructor(limit: number) {
    this.#entries = new LruCache(limit);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The token's user if it is known and valid at `now`; else null, and the token has to be verified. */
  recall(token: string, now: number): User | null {
    const entry = this.#entries.get(token);
    if (entry === undefined) return null;
    if (now >= entry.forget) {
      this.#entries.delete(token);
      return null;
    }
    return now < entry.notBefore ? null : entry.user;
  }

  remember(token: string, verified: VerifiedToken, now: number): void {
    this.#entries.set(token, { ...verified, forget: Math.min(verified.expires, now + maxAge) });
  }
}
