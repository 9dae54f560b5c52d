import type { User } from './user.ts';

/** A token whose signature was found right. Times are in seconds since 1970. */
export interface VerifiedToken {
  readonly user: User;
  readonly notBefore: number;
  readonly expires: number;
}

/** Seconds after which a signature is checked again in any case, so that a key that was withdrawn stops working. */
const longest = 600;

/**
 * Remembers which tokens were verified, the least recently used ones being forgotten first. It knows only tokens that were
 * right, by their whole text, so a forger can neither fill it nor hit it. What a token permits is not its business.
 */
export class TokenMemory {
  readonly #limit: number;
  readonly #entries = new Map<string, VerifiedToken & { readonly forget: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The token's user if it is known and valid at `now`; else null, and the token has to be verified. */
  recall(token: string, now: number): User | null {
    const entry = this.#entries.get(token);
    if (entry === undefined) return null;
    this.#entries.delete(token);
    if (now >= entry.forget) return null;
    this.#entries.set(token, entry);
    return now < entry.notBefore ? null : entry.user;
  }

  remember(token: string, verified: VerifiedToken, now: number): void {
    this.#entries.delete(token);
    this.#entries.set(token, { ...verified, forget: Math.min(verified.expires, now + longest) });
    if (this.#entries.size > this.#limit) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest as string);
    }
  }
}
