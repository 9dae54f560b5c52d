import type { onRequestHookHandler } from 'fastify';
import { addVary } from './vary.ts';

/**
 * Makes the hook that sets `cache-control`. Only the client may cache reads, and must revalidate them each time. Responses to
 * writes are not cached. Handlers can replace the header; problems are sent with `no-store`.
 *
 * `private` also covers responses that depend on what an authenticator of the application reads, such as cookies. `headers` go
 * into `vary`, for responses that the application makes public.
 */
export function responseCaching(headers: readonly string[]): onRequestHookHandler {
  const vary = headers.join(', ');
  return ({ method }, reply, done) => {
    // the host application may have set the header for all of its routes
    if (!reply.hasHeader('cache-control')) {
      reply.header('cache-control', method === 'GET' || method === 'HEAD' ? 'private, no-cache' : 'no-store');
    }
    if (vary !== '') addVary(reply, vary);
    done();
  };
}
