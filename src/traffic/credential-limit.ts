import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Authenticator, isOfApplication } from '../access/authenticator.ts';
import { callerName } from '../access/caller.ts';
import { LruCache } from '../database/lru-cache.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';
import { Problem, problem } from '../errors.ts';
import { type CountedHits, countHit, secondsUntil } from './rate-limiter.ts';

/** Seconds. Other clients of the same address wait no longer than this. */
const longestWindow = 60;

/** Wrong credentials that are always allowed in a window, unless the declared limit is lower. */
const leastLimit = 10;

/** Addresses that a process remembers. */
const mostAddresses = 100_000;

/**
 * Stops guessing: beyond the limit of wrong credentials, none of the address is checked until the window is over, so that a right one and a
 * wrong one get the same response. What was accepted on a connection before goes on there. That helps nobody to guess: whoever sends another
 * credential on that connection ends it.
 */
export class CredentialLimit {
  readonly #limit: number;
  readonly #window: number;
  readonly #wrong: CountedHits = new LruCache(mostAddresses);
  /** Authenticators of the application read what they like, so that every request may be a guess. */
  readonly #isAnyGuess: boolean;
  /** The credential that was accepted last on a connection. */
  readonly #accepted = new WeakMap<Socket, string>();

  constructor({ limit, window }: Pick<RateLimitDeclaration, 'limit' | 'window'>, authenticators: readonly Authenticator[]) {
    this.#window = Math.min(window, longestWindow);
    this.#limit = Math.max(Math.min(limit, leastLimit), Math.floor((limit * this.#window) / window));
    this.#isAnyGuess = authenticators.some(isOfApplication);
  }

  /** Before a request is authenticated: why its credential must not be checked, or null. */
  before(request: FastifyRequest): Problem | null {
    const until = this.#blockedUntil(request);
    if (until === null) return null;
    const credential = credentialOf(request);
    if (credential === null && !this.#isAnyGuess) return null;
    if (this.#isAcceptedHere(request, credential)) return null;
    this.#accepted.delete(request.raw.socket);
    return this.#refusal(until);
  }

  /** After a request was authenticated: why it is rejected all the same, since the limit was reached meanwhile, or null. */
  accepted(request: FastifyRequest): Problem | null {
    const credential = credentialOf(request);
    const until = this.#blockedUntil(request);
    if (until !== null) return this.#isAcceptedHere(request, credential) ? null : this.#refusal(until);
    if (credential !== null && !this.#isAnyGuess) this.#accepted.set(request.raw.socket, credential);
    return null;
  }

  /** After authentication failed: counts a wrong credential, and returns what the request is rejected with. */
  failed(request: FastifyRequest, error: unknown): unknown {
    if (!(error instanceof Problem && error.status === 401)) return error;
    this.#accepted.delete(request.raw.socket);
    const until = this.#blockedUntil(request);
    if (until !== null) return this.#refusal(until);
    countHit(this.#wrong, callerName(request, 'address'), this.#window * 1000, performance.now());
    return error;
  }

  #blockedUntil(request: FastifyRequest): number | null {
    if (this.#wrong.size === 0) return null;
    const counted = this.#wrong.get(callerName(request, 'address'));
    return counted && counted.hits >= this.#limit && counted.resetsAt > performance.now() ? counted.resetsAt : null;
  }

  #isAcceptedHere({ raw }: FastifyRequest, credential: string | null): boolean {
    return credential !== null && this.#accepted.get(raw.socket) === credential;
  }

  #refusal(until: number): Problem {
    const seconds = secondsUntil(until, performance.now());
    const parameters = { limit: this.#limit, window: this.#window, seconds };
    return problem('too_many_wrong_credentials', parameters, { headers: { 'retry-after': String(seconds) } });
  }
}

/** What the authenticators of Declarest read. */
function credentialOf({ headers }: FastifyRequest): string | null {
  const { authorization, 'x-api-key': key } = headers;
  return authorization === undefined && key === undefined ? null : JSON.stringify([authorization, key]);
}
