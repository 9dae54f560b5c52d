import type { FastifyRequest } from 'fastify';

/** Who is calling. */
export interface User {
  readonly id: string | number;
  readonly roles: readonly string[];
  readonly [claim: string]: unknown;
}

/** Fastify's request, with the user that the authenticators found. */
export interface ApiRequest extends FastifyRequest {
  readonly user: User | null;
}
