import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, parseAddress } from '../access/address.ts';
import { LruCache } from '../database/lru-cache.ts';
import type { ShortLivedMap } from '../database/short-lived-map.ts';

/** Right and wrong credentials that a process remembers. */
const mostRight = 4096;
const mostWrong = 1024;

const verifiedKey = Symbol('verified');

/** Marks a request whose credential was verified. */
export function noteVerified(request: IncomingMessage): void {
  (request as { [verifiedKey]?: true })[verifiedKey] = true;
}

/** The responses under way. */
type InFlight = Pick<ShortLivedMap<ServerResponse, unknown>, 'keys' | 'size'>;

/**
 * Divides the places of a full server between callers. Requests are not authenticated yet, so a caller is a credential that was
 * right before, or else an address. For each address, four kinds of requests are counted separately: without a credential, with
 * one that was wrong before, with a new one, and with a new one on a connection whose last one was wrong. So guesses are counted
 * together, and apart from other requests of the same address.
 */
export class FairShares {
  readonly #inFlight: InFlight;
  readonly #clientOf: (request: IncomingMessage) => string | null;
  readonly #right = new LruCache<true>(mostRight);
  readonly #wrong = new LruCache<true>(mostWrong);
  /** Connections whose last credential was wrong. */
  readonly #suspect = new WeakSet<Socket>();
  readonly #callers = new WeakMap<ServerResponse, string>();
  #counts = new Map<string, number>();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(
    inFlight: InFlight,
    clientOf: (request: IncomingMessage) => string | null = ({ socket }) => parseAddress(socket.remoteAddress),
  ) {
    this.#inFlight = inFlight;
    this.#clientOf = clientOf;
  }

  /** Takes a place for the caller of a request. Returns false if the caller has its share already. */
  take(response: ServerResponse, places: number): boolean {
    const now = performance.now();
    // counting is linear in the requests in flight, so it runs less often with more of them
    if (now - this.#countedAt >= this.#inFlight.size / 100) this.#count(now);
    const caller = this.#callerOf(response);
    const own = this.#counts.get(caller) ?? 0;
    const callers = this.#counts.size + (own === 0 ? 1 : 0);
    if (own >= Math.max(Math.floor(places / callers), 1)) return false;
    this.#counts.set(caller, own + 1);
    return true;
  }

  /** Notes from a response that has ended whether the credential was right. */
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
      // a request with an incomplete body takes no place
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

/** The credential of a request, unparsed. */
function credentialOf({ headers }: IncomingMessage): string | null {
  const { authorization, 'x-api-key': key } = headers;
  return key === undefined ? (authorization ?? null) : `${authorization ?? ''}\n${key}`;
}
