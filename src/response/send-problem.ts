import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode, Problem } from '../errors.ts';
import { loggableError } from './loggable-error.ts';
import { noSniffing, noStore, type ProblemFormatOf, retryLater, writtenProblem } from './problem-document.ts';
import { targetOf } from './request-target.ts';

/** Problems caused by load alone. They are logged without a stack, which would tell nothing, as there may be many of them. */
const loadProblems: ReadonlySet<string> = new Set<ErrorCode>(['overloaded', 'too_many_exports']);

/** Logs a problem that is the server's own fault. */
export type LogProblem = (request: FastifyRequest, found: Problem) => void;

const logWithCause: LogProblem = ({ log }, found) => {
  if (loadProblems.has(found.code) && found.cause === undefined) log.warn({ code: found.code }, found.message);
  else log.error({ err: loggableError(found.cause ?? found) }, found.message);
};

/** Sends a problem. Server errors are logged with their cause, which the response does not contain. */
export function sendProblem(
  found: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
  formatOf: ProblemFormatOf,
  log: LogProblem = logWithCause,
): FastifyReply {
  if (found.status >= 500) log(request, found);
  const { path } = targetOf(request.url);
  const { pattern } = (request.routeOptions?.config ?? {}) as { pattern?: string };
  const { body, type } = writtenProblem(found, path, formatOf(path, pattern));
  // code of the application may throw these as well, without the header
  if ((found.status === 503 || found.status === 507) && !reply.hasHeader('retry-after')) reply.headers(retryLater);
  reply.header(noSniffing.name, noSniffing.value);
  // replaces what the handler may have set for its response
  reply.header(noStore.name, noStore.value);
  return reply.code(found.status).headers(found.headers).type(type).send(body);
}
