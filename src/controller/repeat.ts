import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper } from '../database/mapper.ts';
import { isTransient, mostAttempts, pauseAfter } from '../database/transient.ts';
import { renewState, stateOf } from './request-state.ts';

/**
 * Answers a request, and does so again from the beginning where the database undid all of it because others were in its way.
 * Nothing of an attempt is left to the next: not what its code made of the body, and no entity.
 */
export async function withAttempts<Result>(
  mapper: Mapper,
  request: ApiRequest,
  reply: FastifyReply,
  answer: () => Promise<Result>,
): Promise<Result> {
  const body = copyOf(request.body);
  for (let attempt = 1; ; attempt++) {
    try {
      return await answer();
    } catch (error) {
      if (attempt >= mostAttempts || !isTransient(error) || isOver(reply)) throw error;
      // what was committed would be done twice
      if (stateOf(request, mapper).isCommitted) throw error;
      await pauseAfter(attempt);
      if (isOver(reply)) throw error;
      renewState(request);
      (request as { body: unknown }).body = copyOf(body);
    }
  }
}

/** Whether nobody waits for an answer any more: there is one, or who asked is gone. */
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
