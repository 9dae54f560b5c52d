import type { FastifyRequest } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import { problem } from '../../errors.ts';
import type { Around } from '../dispatch.ts';

/** Throws if the body of a request is not as declared; else returns the body that the handler receives. */
export type BodyCheck = (request: FastifyRequest) => unknown;

/** Checks a body against its declaration, after access was granted and before the handler runs. */
export function withBody(check: BodyCheck, around: Around): Around {
  return async (request, run) => {
    if (hasBody(request)) (request as { body: unknown }).body = await check(request);
    return around(request, run);
  };
}

function hasBody({ body, method }: ApiRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  if (body !== undefined) return true;
  // many clients cannot send a body with DELETE
  if (method === 'DELETE') return false;
  throw problem('invalid_body', { reason: 'it is missing' });
}
