import type { onRequestHookHandler } from 'fastify';

/**
 * Makes the hook that says how responses may be kept: reads by the client alone, which asks each time whether they still hold, and
 * writes by nobody. Handlers replace it by what they set themselves, and problems by `no-store`.
 *
 * `private` also covers what an authenticator of the application reads, such as cookies. `headers` are for responses that the application
 * makes public.
 */
export function responseCaching(headers: readonly string[]): onRequestHookHandler {
  const vary = headers.join(', ');
  return ({ method }, reply, done) => {
    // a host may have said so for all of its routes
    if (!reply.hasHeader('cache-control')) {
      reply.header('cache-control', method === 'GET' || method === 'HEAD' ? 'private, no-cache' : 'no-store');
    }
    if (vary !== '') {
      const others = reply.getHeader('vary');
      reply.header('vary', others === undefined ? vary : `${others}, ${vary}`);
    }
    done();
  };
}
