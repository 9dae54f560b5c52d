import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import type { AccessWatch } from '../access/access-watch.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import { currentTimings, RequestTimings, timingsByRequest } from './request-timings.ts';
import type { Tracing } from './tracing.ts';

/** Follows every request of a server through its phases, and reports them in `Server-Timing`, in spans, or both. */
export function followPhases(
  app: FastifyInstance,
  timing: boolean,
  tracing: Tracing | null,
): { readonly access: AccessWatch; readonly waits: NonNullable<StatementWatch['waits']> } {
  const follow: onRequestHookHandler = (request, _reply, done) => {
    const timings = timingsByRequest.get(request);
    if (!timings) return done();
    currentTimings.run(timings, () => (tracing ? tracing.within(request, timings, done) : done()));
  };
  app.addHook('onRequest', function start(request, reply, done) {
    timingsByRequest.set(request, new RequestTimings());
    follow.call(this, request, reply, done);
  });
  // the socket emits a body outside of the context in which its request was received
  app.addHook('preValidation', follow);
  app.addHook('onSend', (request, reply, _payload, done) => {
    const timings = timingsByRequest.get(request);
    if (timings && timing) reply.header('server-timing', timesOf(timings, performance.now()));
    if (timings) tracing?.serialized(timings);
    done();
  });
  const begin = (phase: 'access' | 'query', endSpan: ((error?: unknown) => void) | undefined) => {
    const endPhase = currentTimings.getStore()?.begin(phase);
    return (error?: unknown) => {
      endPhase?.();
      endSpan?.(error);
    };
  };
  return {
    access: () => begin('access', tracing?.access()),
    waits: (text) => begin('query', tracing?.waits(text)),
  };
}

function timesOf({ lastEnd, spent, start }: RequestTimings, now: number): string {
  return Object.entries({ ...spent, serialize: now - lastEnd, total: now - start })
    .map(([name, ms]) => `${name};dur=${Math.round(ms * 100) / 100}`)
    .join(', ');
}
