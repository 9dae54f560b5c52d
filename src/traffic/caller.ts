import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { callerName } from '../access/caller.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';

/** The key by which requests are counted together: the user, or without one the address. */
export function callerOf(request: FastifyRequest, { by, name }: RateLimitDeclaration): string {
  // hashed, so that neither names nor addresses are stored, and all keys have the same length
  return hash('sha256', `${name} ${callerName(request, by)}`, 'base64url');
}
