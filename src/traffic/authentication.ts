import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { ApiRequest, User } from '../access/user.ts';
import type { Find } from '../actions/start/observer.ts';
import { isPromiseLike } from '../database/promise-like.ts';
import type { CredentialLimit } from './credential-limit.ts';
import { noteVerified } from './fair-shares.ts';

/**
 * The hook that authenticates callers. If the authenticators return at once, the request does not wait. Errors reach Fastify as
 * rejections: a callback without an error would admit the caller.
 */
export function authentication(find: Find, limit: CredentialLimit | null): onRequestHookHandler {
  const accept = (request: FastifyRequest, user: User | null): Error | null => {
    (request as { user?: unknown }).user = user;
    if (user === null) return null;
    const refused = limit?.accepted(request) ?? null;
    if (!refused) noteVerified(request.raw);
    return refused;
  };
  const fail = (request: FastifyRequest, error: unknown) => Promise.reject(limit ? limit.failed(request, error) : error);
  return (request, _reply, done) => {
    const refused = limit?.before(request);
    if (refused) return Promise.reject(refused);
    let found: User | null | Promise<User | null>;
    try {
      found = find(request as ApiRequest);
    } catch (error) {
      return fail(request, error);
    }
    if (isPromiseLike(found)) {
      return found.then(
        (user) => {
          const late = accept(request, user);
          if (late) throw late;
        },
        (error: unknown) => fail(request, error),
      );
    }
    const late = accept(request, found);
    if (late) return Promise.reject(late);
    done();
    return undefined;
  };
}
