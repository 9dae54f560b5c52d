import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Authenticator, isOfApplication } from '../access/authenticator.ts';
import { callerName } from '../access/caller.ts';
import { LruCache } from '../database/lru-cache.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';
import { Problem, problem } from '../errors.ts';
import { type CountedHits, countHit, secondsUntil } from './rate-limiter.ts';

/** Seconds. Other clients of the same address are blocked no longer than this. */
const longestWindow = 60;

/** Wrong credentials that are always allowed in a window, unless the declared limit is lower. */
const leastLimit = 10;

/** Addresses that a process remembers. */
const mostAddresses = 100_000;

/**
 * Stops attempts to guess credentials. Beyond the limit of wrong credentials, no credential of the address is checked until the
 * window ends, so that right and wrong ones get the same response. A credential that was accepted on a connection before stays
 * accepted there. That does not help to guess: another credential on the same connection ends it.
 */
export class CredentialLimit {
  readonly #limit: number;
  readonly #window: number;
  readonly #wrong: CountedHits = new LruCache(mostAddresses);
  /** Authenticators of the application may read any part of a request, so every request may be a guess. */
  readonly #isAnyGuess: boolean;
  /** The credential that was accepted last on a connection. */
  readonly #accepted = new WeakMap<Socket, string>();

  constructor({ limit, window }: Pick<RateLimitDeclaration, 'limit' | 'window'>, authenticators: readonly Authenticator[]) {
    this.#window = Math.min(window, longestWindow);
    this.#limit = Math.max(Math.min(limit, leastLimit), Math.floor((limit * this.#window) / window));
    this.#isAnyGuess = authenticators.some(isOfApplication);
  }

  /** Called before authentication. Returns a problem if the credential must not be checked, else null. */
  before(request: FastifyRequest): Problem | null {
    const until = this.#blockedUntil(request);
    if (until === null) return null;
    const credential = credentialOf(request);
    if (credential === null && !this.#isAnyGuess) return null;
    if (this.#isAcceptedHere(request, credential)) return null;
    this.#accepted.delete(request.raw.socket);
    return this.#refusal(until);
  }

  /** Called after successful authentication. Returns a problem if the limit was reached meanwhile, else null. */
  accepted(request: FastifyRequest): Problem | null {
    const credential = credentialOf(request);
    const until = this.#blockedUntil(request);
    if (until !== null) return this.#isAcceptedHere(request, credential) ? null : this.#refusal(until);
    if (credential !== null && !this.#isAnyGuess) this.#accepted.set(request.raw.socket, credential);
    return null;
  }

  /** Called after failed authentication. Counts a wrong credential, and returns the error for the response. */
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

/** The headers that the built-in authenticators read. */
function credentialOf({ headers }: FastifyRequest): string | null {
  const { authorization, 'x-api-key': key } = headers;
  return authorization === undefined && key === undefined ? null : JSON.stringify([authorization, key]);
}
