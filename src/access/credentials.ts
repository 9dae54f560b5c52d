import type { FastifyRequest } from 'fastify';
import { type Problem, problem } from '../errors.ts';

/** The value of `WWW-Authenticate` that requests a bearer token. */
export const bearerChallenge = 'Bearer realm="api"';

/** The 401 for a credential that is present and wrong. */
export function invalidCredentials(reason: string, challenge: string, cause?: unknown): Problem {
  return problem('invalid_credentials', { reason }, { headers: { 'WWW-Authenticate': challenge }, cause });
}

/**
 * The value of a header (its name in lower case), or undefined without one. A credential that was sent twice is rejected: Node
 * keeps the first `Authorization` and joins other headers, but a proxy may have read the other one.
 */
export function singleHeader(request: FastifyRequest, name: string, challenge: string): string | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || occurrences(name, request.raw?.rawHeaders ?? []) > 1) {
    throw invalidCredentials(`the header ${name} was sent more than once`, challenge);
  }
  return value;
}

/** Counts a name in Node's flat list of names and values. */
function occurrences(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) count++;
  }
  return count;
}
