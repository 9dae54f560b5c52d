import { STATUS_CODES } from 'node:http';
import { ConnectionException, DriverException, LockWaitTimeoutException } from '@mikro-orm/core';
import { Problem, problem } from '../errors.ts';

export const problemType = 'application/problem+json; charset=utf-8';

/** Seconds after which a caller may try again, when the database was out of reach. */
const retryAfter = '1';

/** The RFC 9457 document of a problem. */
export function problemDocument(found: Problem, path: string): Record<string, unknown> {
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

/** Any error as the problem that is sent: what is not known to be the caller's becomes a 500 that says nothing of the cause. */
export function toProblem(error: unknown, bodyLimit: number): Problem {
  if (error instanceof Problem) return error;
  if (isUnavailable(error)) {
    return problem('database_unavailable', {}, { headers: { 'retry-after': retryAfter }, cause: error });
  }
  const { statusCode, code, message } = error as { statusCode?: unknown; code?: unknown; message?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported_media_type', { allowed: 'application/json' }, { cause: error });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('body_too_large', { limit: bodyLimit }, { cause: error });
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('invalid_body', { reason: 'it is empty or no valid JSON' }, { cause: error });
  }
  if (error instanceof SyntaxError && statusCode === 400)
    return problem('invalid_body', { reason: 'it is no valid JSON' }, { cause: error });
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new OtherProblem(statusCode, typeof message === 'string' ? message : '', error);
  }
  return problem('internal_error', {}, { cause: error });
}

/** A refusal that an application's own code or a plugin threw, with a status of its own. */
class OtherProblem extends Problem {
  override readonly status: number;
  override readonly title: string;

  constructor(status: number, detail: string, cause: unknown) {
    super('bad_request', detail, { cause });
    this.status = status;
    this.title = STATUS_CODES[status] ?? 'Bad request';
  }
}

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  '57014', // statement timeout
  '57P01',
  '57P02',
  '57P03',
  '53300', // too many connections
  '55P03',
]);

/** Whether the database was out of reach, too slow or too busy: the same request may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionException || error instanceof LockWaitTimeoutException) return true;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: unknown };
    if (typeof code === 'string' && (unavailableCodes.has(code) || code.startsWith('08'))) return true;
    if (/timeout exceeded when trying to connect|Connection terminated|database is locked/.test(message)) return true;
    // a connection refused on every address of a host
    if (cause instanceof AggregateError && cause.errors.some(isUnavailable)) return true;
  }
  return error instanceof DriverException && isUnavailable((error as { previous?: unknown }).previous);
}
