import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode, Problem } from '../errors.ts';
import { loggableError } from './loggable-error.ts';
import { noSniffing, noStore, type ProblemFormatOf, retryLater, writtenProblem } from './problem-document.ts';
import { targetOf } from './request-target.ts';

/** Problems that say no more than that there was too much to do. Their stack tells nothing, and there may be many of them. */
const ofLoad: ReadonlySet<string> = new Set<ErrorCode>(['overloaded', 'too_many_exports']);

/** Logs a problem that is the server's own fault. */
export type LogProblem = (request: FastifyRequest, found: Problem) => void;

const withCause: LogProblem = ({ log }, found) => {
  if (ofLoad.has(found.code) && found.cause === undefined) log.warn({ code: found.code }, found.message);
  else log.error({ err: loggableError(found.cause ?? found) }, found.message);
};

/** Sends a problem; what is the server's own fault is logged with its cause, which nobody is told. */
export function sendProblem(
  found: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
  formatOf: ProblemFormatOf,
  log: LogProblem = withCause,
): FastifyReply {
  if (found.status >= 500) log(request, found);
  const { path } = targetOf(request.url);
  const { pattern } = (request.routeOptions?.config ?? {}) as { pattern?: string };
  const { body, type } = writtenProblem(found, path, formatOf(path, pattern));
  // code of the application may refuse so too, and need not think of it
  if (found.status === 503 || found.status === 507) reply.headers(retryLater);
  reply.header(noSniffing.name, noSniffing.value);
  // also if the handler had said that its response may be kept
  reply.header(noStore.name, noStore.value);
  return reply.code(found.status).headers(found.headers).type(type).send(body);
}
