import type { FastifyRequest } from 'fastify';
import type { ParameterValues } from '../declaration/types.ts';

/** The caller of a request, as an authenticator found it. */
export interface User {
  readonly id: string | number;
  readonly roles: readonly string[];
  readonly [claim: string]: unknown;
}

/** Fastify's request, with the user that the authenticators found and the query parameters that the action declares. */
export interface ApiRequest<Parameters extends object = ParameterValues> extends FastifyRequest {
  readonly user: User | null;
  /** The values of the action's `parameters`, validated; undefined if a request has none and there is no default. */
  readonly parameters: Readonly<Parameters>;
}

/** The user of a request, as the authenticators found it before the action. */
export function userOf(request: ApiRequest): User | null {
  return (request as { user?: User | null }).user ?? null;
}
