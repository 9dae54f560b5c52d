import type { FastifyReply, onRequestHookHandler } from 'fastify';
import { LruCache } from '../database/lru-cache.ts';
import { removalPace } from '../database/tables/expired-rows.ts';
import type { RateTable } from '../database/tables/rate-table.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { callerOf } from './caller.ts';

/** Callers that a process remembers. */
const mostCallers = 100_000;

/** The counted requests of a caller. `resetsAt` is a time of `performance.now()`, which does not jump with the system clock. */
export interface CallerHits {
  readonly hits: number;
  readonly resetsAt: number;
}

/** Counts the requests of each caller, and rejects those beyond the limit before their bodies are read. */
export class RateLimiter {
  readonly #counted: CountedHits = new LruCache(mostCallers);
  readonly #table: RateTable | null;
  /** Rejected callers, which need not be counted until their window is over. */
  readonly #refused = new LruCache<CallerHits>(10_000);
  #cleansAt = 0;

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

  #count(caller: string, { limit, window }: RateLimitDeclaration): CallerHits | Promise<CallerHits> {
    const now = performance.now();
    const length = window * 1000;
    if (!this.#table) return countHit(this.#counted, caller, length, now);
    const refused = this.#refused.get(caller);
    if (refused && refused.resetsAt > now) return refused;
    this.#clean(this.#table, now);
    // the time of day is the only clock that processes share
    const time = Date.now();
    return this.#table.hit(caller, length, time).then(({ hits, resetsAt }) => {
      const counted = { hits, resetsAt: now + Math.min(Math.max(resetsAt - time, 0), length) };
      if (hits > limit) this.#refused.set(caller, counted);
      return counted;
    });
  }

  #clean(table: RateTable, now: number): void {
    if (now < this.#cleansAt) return;
    this.#cleansAt = Number.POSITIVE_INFINITY;
    table
      .clean(Date.now())
      // rows that could not be removed are removed the next time
      .catch(() => false)
      .then((isMore) => {
        this.#cleansAt = performance.now() + (isMore ? removalPace.pause : removalPace.interval);
      });
  }
}

export type CountedHits = LruCache<{ hits: number; readonly resetsAt: number }>;

/** Counts a request in this process. */
export function countHit(counted: CountedHits, caller: string, window: number, now: number): CallerHits {
  const known = counted.get(caller);
  if (!known || known.resetsAt <= now) return counted.set(caller, { hits: 1, resetsAt: now + window });
  known.hits++;
  return known;
}

function passOrThrow(counted: CallerHits, limit: RateLimitDeclaration, reply: FastifyReply): void {
  const now = performance.now();
  reply.headers(rateHeaders(counted, limit, now));
  if (counted.hits > limit.limit) throw refusal(counted, limit, now);
}

/** As in the IETF draft "RateLimit header fields for HTTP". */
function rateHeaders({ hits, resetsAt }: CallerHits, { limit, name, window }: RateLimitDeclaration, now: number) {
  return {
    'ratelimit-policy': `"${name}";q=${limit};w=${window}`,
    ratelimit: `"${name}";r=${Math.max(limit - hits, 0)};t=${secondsUntil(resetsAt, now)}`,
  };
}

function refusal(counted: CallerHits, limit: RateLimitDeclaration, now: number): Problem {
  const seconds = secondsUntil(counted.resetsAt, now);
  return problem(
    'rate_limited',
    { limit: limit.limit, window: limit.window, seconds },
    { headers: { ...rateHeaders(counted, limit, now), 'retry-after': String(seconds) } },
  );
}

export function secondsUntil(time: number, now: number): number {
  return Math.max(Math.ceil((time - now) / 1000), 1);
}
