import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, parseAddress } from '../access/address.ts';
import { LruCache } from '../database/lru-cache.ts';

/** Credentials that a process knows to be right, and to be wrong. */
const mostRight = 4096;
const mostWrong = 1024;

const verifiedKey = Symbol('verified');

/** Notes that the credential of a request was found right. */
export function noteVerified(request: IncomingMessage): void {
  (request as { [verifiedKey]?: true })[verifiedKey] = true;
}

/**
 * Divides the places of a full server between callers. Nobody is authenticated yet, so a caller is a credential that was right before, or an
 * address: apart for requests without a credential, with one that was wrong before, with a new one, and with a new one on a connection whose
 * last one was wrong. So guesses are counted together, and away from others of the same address.
 */
export class FairShares {
  readonly #inFlight: ReadonlyMap<ServerResponse, unknown>;
  readonly #clientOf: (request: IncomingMessage) => string | null;
  readonly #right = new LruCache<true>(mostRight);
  readonly #wrong = new LruCache<true>(mostWrong);
  /** Connections whose last credential was wrong. */
  readonly #suspect = new WeakSet<Socket>();
  readonly #callers = new WeakMap<ServerResponse, string>();
  #counts = new Map<string, number>();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(
    inFlight: ReadonlyMap<ServerResponse, unknown>,
    clientOf: (request: IncomingMessage) => string | null = ({ socket }) => parseAddress(socket.remoteAddress),
  ) {
    this.#inFlight = inFlight;
    this.#clientOf = clientOf;
  }

  /** Whether the caller of a request has fewer than its share of the places, and takes one of them. */
  take(response: ServerResponse, places: number): boolean {
    const now = performance.now();
    // counting takes more time the more requests there are
    if (now - this.#countedAt >= this.#inFlight.size / 100) this.#count(now);
    const caller = this.#callerOf(response);
    const own = this.#counts.get(caller) ?? 0;
    const callers = this.#counts.size + (own === 0 ? 1 : 0);
    if (own >= Math.max(Math.floor(places / callers), 1)) return false;
    this.#counts.set(caller, own + 1);
    return true;
  }

  /** Learns from a response that has ended which credentials are right. */
  ended({ req: request, statusCode }: ServerResponse): void {
    const credential = credentialOf(request);
    if (credential === null) return;
    if ((request as { [verifiedKey]?: true })[verifiedKey]) {
      this.#right.get(credential, () => true);
      this.#suspect.delete(request.socket);
    } else if (statusCode === 401 || statusCode === 429) {
      this.#right.delete(credential);
      this.#wrong.set(credential, true);
      this.#suspect.add(request.socket);
    }
  }

  #count(now: number): void {
    this.#countedAt = now;
    this.#counts = new Map();
    for (const response of this.#inFlight.keys()) {
      // a body that is still on its way takes no place
      if (!response.req.complete) continue;
      const caller = this.#callerOf(response);
      this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
    }
  }

  #callerOf(response: ServerResponse): string {
    let caller = this.#callers.get(response);
    if (caller === undefined) {
      caller = this.#nameOf(response.req);
      this.#callers.set(response, caller);
    }
    return caller;
  }

  #nameOf(request: IncomingMessage): string {
    const credential = credentialOf(request);
    if (credential !== null && this.#right.get(credential)) return `right credential ${credential}`;
    const kind = credential === null ? 'no' : this.#kindOf(credential, request.socket);
    return `${kind} credential from ${networkOf(this.#clientOf(request) ?? 'unknown')}`;
  }

  #kindOf(credential: string, socket: Socket): string {
    if (this.#wrong.get(credential)) return 'wrong';
    return this.#suspect.has(socket) ? 'suspect' : 'unknown';
  }
}

/** The credential that a request was sent with, as it is written. */
function credentialOf({ headers }: IncomingMessage): string | null {
  const { authorization, 'x-api-key': key } = headers;
  return key === undefined ? (authorization ?? null) : `${authorization ?? ''}\n${key}`;
}
