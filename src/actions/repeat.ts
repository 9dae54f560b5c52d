import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import { isTransient, mostAttempts, pauseAfter } from '../database/transient.ts';
import { isTurnLong, mapInTurns, nextTurn } from '../event-loop.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { renewState, stateOf } from '../store/request-state.ts';
import { outdated } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

/**
 * Runs a request. Retries it if the database rolled all of it back because of another request, or if its row was changed after
 * access to it was checked. Each attempt starts with a fresh copy of the body and without the entities of the attempt before.
 */
export async function withAttempts<Result>(
  { framework, meta }: ApiRuntime,
  request: ApiRequest,
  reply: FastifyReply,
  run: () => Promise<Result>,
  isRepeatable: boolean,
): Promise<Result> {
  const { mapper } = framework;
  const body = isRepeatable ? await copyInTurns(request.body) : undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isChanged = error instanceof RowChanged;
      const isLast = !isRepeatable || attempt >= mostAttempts || isOver(reply) || stateOf(request, mapper).isCommitted;
      if (isLast && isChanged) throw outdated(meta, request);
      if (isLast || !(isChanged || isTransient(error))) throw error;
      if (!isChanged) await pauseAfter(attempt);
      if (isOver(reply)) throw error;
      // a request that is overtaken repeatedly locks the row first
      renewState(request, mapper, isChanged && attempt >= mostAttempts - 2);
      stateOf(request, mapper).isAlone = !isChanged;
      (request as { body: unknown }).body = await copyInTurns(body);
    }
  }
}

/** Whether a response was sent, or the client has disconnected. */
function isOver({ raw, sent }: FastifyReply): boolean {
  return sent || raw.headersSent || raw.writableEnded || raw.destroyed;
}

/** A deep copy of a JSON value. If it is long, it takes several turns of the event loop, and ends in a short one. */
async function copyInTurns(value: unknown): Promise<unknown> {
  const copy = await copiedParts(value);
  if (isTurnLong()) await nextTurn();
  return copy;
}

async function copiedParts(value: unknown): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return mapInTurns(value, copyOf);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (isTurnLong()) await nextTurn();
    const part = (value as Record<string, unknown>)[key];
    copy[key] = Array.isArray(part) ? await mapInTurns(part, copyOf) : copyOf(part);
  }
  return copy;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const key in value) copy[key] = copyOf((value as Record<string, unknown>)[key]);
  return copy;
}
