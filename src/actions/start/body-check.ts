import type { FastifyRequest } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import { problem } from '../../errors.ts';
import type { Around } from '../dispatch.ts';

/** Refuses a request whose body is not as declared, by throwing; gives what the handler finds in its place. */
export type BodyCheck = (request: FastifyRequest) => unknown;

/** Holds a body to what was declared of it, once access was granted and before the handler runs. */
export function withBody(check: BodyCheck, around: Around): Around {
  return async (request, run) => {
    if (hasBody(request)) (request as { body: unknown }).body = await check(request);
    return around(request, run);
  };
}

function hasBody({ body, method }: ApiRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  if (body !== undefined) return true;
  // many clients cannot send one with it
  if (method === 'DELETE') return false;
  throw problem('invalid_body', { reason: 'it is missing' });
}
