import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import { isTransient, mostAttempts, pauseAfter } from '../database/transient.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { renewState, stateOf } from '../store/request-state.ts';
import { outdated } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

/**
 * Answers a request, and starts again if the database rolled all of it back because of another request, or if its row was changed after
 * access to it was checked. Nothing of an attempt is left to the next: neither what code made of the body, nor an entity.
 */
export async function withAttempts<Result>(
  { framework, meta }: ApiRuntime,
  request: ApiRequest,
  reply: FastifyReply,
  answer: () => Promise<Result>,
  isRepeatable: boolean,
): Promise<Result> {
  const { mapper } = framework;
  const body = isRepeatable ? copyOf(request.body) : undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      return await answer();
    } catch (error) {
      const isChanged = error instanceof RowChanged;
      const isLast = !isRepeatable || attempt >= mostAttempts || isOver(reply) || stateOf(request, mapper).isCommitted;
      if (isLast && isChanged) throw outdated(meta, request);
      if (isLast || !(isChanged || isTransient(error))) throw error;
      if (!isChanged) await pauseAfter(attempt);
      if (isOver(reply)) throw error;
      // whoever keeps being overtaken takes the lock first
      renewState(request, mapper, isChanged && attempt >= mostAttempts - 2);
      (request as { body: unknown }).body = copyOf(body);
    }
  }
}

/** Whether nobody waits for a response any more: there is one, or the caller is gone. */
function isOver({ raw, sent }: FastifyReply): boolean {
  return sent || raw.headersSent || raw.writableEnded || raw.destroyed;
}

/** A copy of what was read from JSON. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const key in value) copy[key] = copyOf((value as Record<string, unknown>)[key]);
  return copy;
}
