import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** What a request spends its time on. */
export type Phase = 'access' | 'query';

/** The times of one request, in milliseconds. */
export class Journey {
  readonly start = performance.now();
  readonly #spent = { access: 0, query: 0 };
  /** What is under way of each phase, and since when; what overlaps is counted once. */
  readonly #open = { access: { count: 0, since: 0 }, query: { count: 0, since: 0 } };
  /** When the last of them ended: what follows is the making of the answer. */
  #lastEnd = this.start;

  begin(phase: Phase): void {
    const open = this.#open[phase];
    if (open.count++ === 0) open.since = performance.now();
  }

  end(phase: Phase): void {
    const open = this.#open[phase];
    const now = performance.now();
    this.#spent[phase] += now - open.since;
    // what else is under way may not be waited for: a count that a page tells by itself
    open.since = now;
    open.count--;
    this.#lastEnd = now;
  }

  get lastEnd(): number {
    return this.#lastEnd;
  }

  spent(phase: Phase): number {
    return this.#spent[phase];
  }
}

const current = new AsyncLocalStorage<Journey>();
const journeyKey = Symbol('journey');

/** The request that is being answered here, if there is one. */
export function currentJourney(): Journey | undefined {
  return current.getStore();
}

export function journeyOf(request: FastifyRequest): Journey | undefined {
  return (request as { [journeyKey]?: Journey })[journeyKey];
}

/** Follows every request of a server. `within` runs the rest of it, for those who keep something of their own as well. */
export function followRequests(
  app: FastifyInstance,
  within: (request: FastifyRequest, journey: Journey, go: () => void) => void = (_request, _journey, go) => go(),
): void {
  const go = (request: FastifyRequest, journey: Journey, done: () => void) =>
    current.run(journey, () => within(request, journey, done));
  app.addHook('onRequest', (request, _reply, done) => {
    const journey = new Journey();
    (request as { [journeyKey]?: Journey })[journeyKey] = journey;
    go(request, journey, done);
  });
  // a body comes from elsewhere, and who reads it does not know any more whom it is for
  app.addHook('preValidation', (request, _reply, done) => {
    const journey = journeyOf(request);
    if (journey) go(request, journey, done);
    else done();
  });
}
