import { ConnectionException, DeadlockException, DriverException, LockWaitTimeoutException } from '@mikro-orm/core';
import { TooLargeError } from '../database/too-large.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { type ErrorCode, Problem, problem } from '../errors.ts';
import { targetOf } from './request-target.ts';
import { xmlProblem } from './xml.ts';

// An import would evaluate all exports of the module, for which Node loads a whole HTTP client.
export const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Sent with every response, so that browsers do not guess another type than the declared one. */
export const noSniffing = Object.freeze({ name: 'x-content-type-options', value: 'nosniff' });

/** Sent with every problem: it concerns one caller at one moment, so caches must not store it. */
export const noStore = Object.freeze({ name: 'cache-control', value: 'no-store' });

/** How problem documents are written. */
export type ProblemFormat = 'json' | 'xml';

const problemTypes: Readonly<Record<ProblemFormat, string>> = {
  json: 'application/problem+json; charset=utf-8',
  xml: 'application/problem+xml; charset=utf-8',
};

/** Chooses the problem format by the path of a request, and by the pattern of its route if it has one. */
export type ProblemFormatOf = (path: string, pattern?: string) => ProblemFormat;

export const alwaysJson: ProblemFormatOf = () => 'json';

/** Requests for XML get problems in XML if any of the routes has that format. All others get JSON. */
export function problemFormats(routes: readonly { readonly formats: readonly string[] }[]): ProblemFormatOf {
  if (!routes.some(({ formats }) => formats.includes('xml'))) return alwaysJson;
  return (path, pattern = '.{_format}') => (path.endsWith('.xml') && pattern.endsWith('.{_format}') ? 'xml' : 'json');
}

/** The number of seconds after which the client may retry. */
export const retryLater = Object.freeze({ 'retry-after': '1' });

/** The content type and the body of a problem. */
export function writtenProblem(
  found: Problem,
  path: string,
  format: ProblemFormat,
): { readonly type: string; readonly body: string } {
  const document = problemDocument(found, path);
  return { type: problemTypes[format], body: format === 'xml' ? xmlProblem(document) : JSON.stringify(document) };
}

function problemDocument(found: Problem, path: string): Record<string, unknown> {
  return {
    type: `urn:declarest:problem:${found.code}`,
    title: found.title,
    status: found.status,
    detail: found.message,
    instance: path,
    code: found.code,
    ...found.members,
  };
}

/** The problem that is sent for an error. Errors that are not known to be the caller's become a 500 without the cause. */
export function toProblem(error: unknown, bodyLimit: number): Problem {
  if (error instanceof Problem) return error;
  if ((error as Error | null)?.message === 'aborted') {
    return problem('invalid_body', { reason: 'it is shorter than its Content-Length' }, { cause: error });
  }
  const tooLarge = causesOf(error).find((cause) => cause instanceof TooLargeError);
  if (tooLarge) return problem('response_too_large', { limit: tooLarge.limit }, { cause: error });
  if (isFull(error)) return problem('database_full', {}, { headers: retryLater, cause: error });
  if (isReadOnly(error)) return problem('database_read_only', {}, { headers: retryLater, cause: error });
  if (isUnavailable(error)) return problem('database_unavailable', {}, { headers: retryLater, cause: error });
  const { statusCode, code, message } = (error ?? {}) as { statusCode?: unknown; code?: unknown; message?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported_media_type', { allowed: 'application/json' }, { cause: error });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('body_too_large', { limit: bodyLimit }, { cause: error });
    // the percent-encoding is invalid, so nothing can have this path
    case 'FST_ERR_BAD_URL':
      return problem('not_found', { path: badPath(String(message)) }, { cause: error });
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('invalid_body', { reason: 'it is empty or not valid JSON' }, { cause: error });
  }
  if (error instanceof SyntaxError && statusCode === 400)
    return problem('invalid_body', { reason: 'it is not valid JSON' }, { cause: error });
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new OtherProblem(statusCode, typeof message === 'string' ? message : '', error);
  }
  // such as @fastify/under-pressure
  if (statusCode === 503) return problem('service_unavailable', {}, { cause: error });
  return problem('internal_error', {}, { cause: error });
}

/** Only the message of the Fastify error contains the URL. */
function badPath(message: string): string {
  return targetOf(message.replace(/^'|' is not a valid url component$/g, '')).path;
}

/** The codes of errors that Declarest did not throw itself, by their status; others have `bad_request`. */
const otherCodes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'access_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  412: 'precondition_failed',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  422: 'unprocessable',
  428: 'precondition_required',
  429: 'too_many_requests',
};

/** A client error with its own status, thrown by code of the application or by a plugin. */
export class OtherProblem extends Problem {
  override readonly status: number;
  override readonly title: string;

  constructor(status: number, detail: string, cause?: unknown, code = otherCodes[status] ?? 'bad_request') {
    super(code, detail, { cause });
    this.status = status;
    this.title = STATUS_CODES[status] ?? 'Bad request';
  }
}

/** Error codes of Node for a server that cannot be reached. */
const unreachable = new Set<unknown>([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** An error and its causes, in order. MikroORM keeps the cause in `previous`. */
function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && !causes.includes(cause); ) {
    causes.push(cause);
    cause = cause.cause ?? (cause instanceof DriverException ? (cause as { previous?: unknown }).previous : undefined);
  }
  return causes;
}

/** Whether the database has no space left for a write. */
function isFull(error: unknown): boolean {
  return causesOf(error).some(databaseErrors.isFull);
}

/** Whether the database rejected a change because it is a replica, or its file must not be written. */
function isReadOnly(error: unknown): boolean {
  return causesOf(error).some(databaseErrors.isReadOnly);
}

/** Whether the database was out of reach, too slow or too busy: the same request may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if ([ConnectionException, LockWaitTimeoutException, DeadlockException].some((type) => error instanceof type)) return true;
  return causesOf(error).some((cause) => {
    if (databaseErrors.isUnavailable(cause) || unreachable.has(cause.code)) return true;
    // every address of a host refused the connection
    return cause instanceof AggregateError && cause.errors.some(isUnavailable);
  });
}
