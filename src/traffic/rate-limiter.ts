import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { LruCache } from '../database/lru-cache.ts';
import type { Hits, RateTable } from '../database/rate-table.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { callerOf } from './caller.ts';

/** Callers that a process remembers. */
const mostCallers = 100_000;

/** Milliseconds between two cleanings of the table. */
const cleaning = 60_000;

/** Counts the requests of each caller, and rejects those beyond the limit before their bodies are read. */
export class RateLimiter {
  readonly #counted: CountedHits = new LruCache(mostCallers);
  readonly #table: RateTable | null;
  /** Rejected callers, which need not be counted until their window is over. */
  readonly #refused = new LruCache<Hits>(10_000);
  #cleanedAt = Date.now();

  /** @param table Counts for several processes; null if each process counts by itself. */
  constructor(table: RateTable | null) {
    this.#table = table;
  }

  /** The hook of routes with this limit. */
  hook(limit: RateLimitDeclaration): onRequestHookHandler {
    return (request, reply, done) => {
      const counted = this.#count(callerOf(request, limit), limit);
      if (counted instanceof Promise) return counted.then((hits) => passOrThrow(hits, limit, reply));
      try {
        passOrThrow(counted, limit, reply);
      } catch (error) {
        return Promise.reject(error);
      }
      done();
      return undefined;
    };
  }

  /** Counts a wrong credential, by address and in this process: it must not wait for the database. */
  failed(request: FastifyRequest, limit: RateLimitDeclaration, reason: unknown): unknown {
    const caller = callerOf(request, { ...limit, by: 'address', name: `${limit.name} wrong credentials` });
    const now = Date.now();
    const hits = countHit(this.#counted, caller, limit.window * 1000, now);
    return hits.hits > limit.limit ? refusal(hits, limit, now) : reason;
  }

  #count(caller: string, { limit, window }: RateLimitDeclaration): Hits | Promise<Hits> {
    const now = Date.now();
    if (!this.#table) return countHit(this.#counted, caller, window * 1000, now);
    const refused = this.#refused.get(caller);
    if (refused && refused.resetsAt > now) return refused;
    this.#clean(this.#table, now);
    return this.#table.hit(caller, window * 1000, now).then((hits) => {
      if (hits.hits > limit) this.#refused.set(caller, hits);
      return hits;
    });
  }

  #clean(table: RateTable, now: number): void {
    if (now - this.#cleanedAt < cleaning) return;
    this.#cleanedAt = now;
    // what could not be removed now is removed the next time
    table.clean(now).catch(() => undefined);
  }
}

type CountedHits = LruCache<{ hits: number; readonly resetsAt: number }>;

/** Counts a request in this process. */
export function countHit(counted: CountedHits, caller: string, window: number, now: number): Hits {
  const known = counted.get(caller);
  if (!known || known.resetsAt <= now) return counted.set(caller, { hits: 1, resetsAt: now + window });
  known.hits++;
  return known;
}

function passOrThrow(counted: Hits, limit: RateLimitDeclaration, reply: FastifyReply): void {
  const now = Date.now();
  reply.headers(rateHeaders(counted, limit, now));
  if (counted.hits > limit.limit) throw refusal(counted, limit, now);
}

/** As in the draft of the IETF, "RateLimit header fields for HTTP". */
function rateHeaders({ hits, resetsAt }: Hits, { limit, name, window }: RateLimitDeclaration, now: number) {
  return {
    'ratelimit-policy': `"${name}";q=${limit};w=${window}`,
    ratelimit: `"${name}";r=${Math.max(limit - hits, 0)};t=${secondsUntil(resetsAt, now)}`,
  };
}

function refusal(counted: Hits, limit: RateLimitDeclaration, now: number): Problem {
  const seconds = secondsUntil(counted.resetsAt, now);
  return problem(
    'rate_limited',
    { limit: limit.limit, window: limit.window, seconds },
    { headers: { ...rateHeaders(counted, limit, now), 'retry-after': String(seconds) } },
  );
}

function secondsUntil(time: number, now: number): number {
  return Math.max(Math.ceil((time - now) / 1000), 1);
}
