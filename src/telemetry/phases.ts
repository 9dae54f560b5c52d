import type { FastifyInstance } from 'fastify';
import type { AccessWatch } from '../access/access-watch.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import { currentJourney, followRequests, type Journey, journeyOf, type Phase } from './journey.ts';
import type { Tracing } from './tracing.ts';

/** Those who are told of the phases of every request. */
export interface PhaseWatch {
  readonly access: AccessWatch;
  readonly waits: NonNullable<StatementWatch['waits']>;
}

/** Follows every request of a server through its phases, to tell them in `Server-Timing`, in spans, or both. */
export function followPhases(app: FastifyInstance, timing: boolean, tracing: Tracing | null): PhaseWatch {
  followRequests(app, tracing?.within.bind(tracing));
  app.addHook('onSend', (request, reply, _payload, done) => {
    const journey = journeyOf(request);
    if (journey && timing) reply.header('server-timing', timesOf(journey, performance.now()));
    if (journey) tracing?.serialized(journey);
    done();
  });
  return {
    access: () => together(timed('access'), tracing?.access()),
    waits: (text) => together(timed('query'), tracing?.waits(text)),
  };
}

/** Begins a phase of the request under way; what comes back ends it. */
function timed(phase: Phase): () => void {
  const journey = currentJourney();
  if (!journey) return () => undefined;
  journey.begin(phase);
  return () => journey.end(phase);
}

function together(one: () => void, other: ((error?: unknown) => void) | undefined): (error?: unknown) => void {
  if (!other) return one;
  return (error) => {
    one();
    other(error);
  };
}

function timesOf(journey: Journey, now: number): string {
  const times = {
    access: journey.spent('access'),
    query: journey.spent('query'),
    serialize: now - journey.lastEnd,
    total: now - journey.start,
  };
  return Object.entries(times)
    .map(([name, ms]) => `${name};dur=${Math.round(ms * 100) / 100}`)
    .join(', ');
}
