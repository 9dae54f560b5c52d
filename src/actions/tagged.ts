import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../errors.ts';
import { namesStrongly, namesWeakly, readTags } from '../response/entity-tag.ts';
import type { ResponseBuffer } from '../response/response-buffer.ts';

/** Whether who asks has the answer with this tag already (RFC 9110, 13.2.2). Throws 412 where another one was asked for. */
export function isKnown({ 'if-match': match, 'if-none-match': noneMatch }: IncomingHttpHeaders, tag: string): boolean {
  if (match !== undefined && !namesStrongly(readTags(match) ?? [], tag)) {
    throw problem('precondition_failed', { reason: `the response has the ETag ${tag} now` });
  }
  return noneMatch !== undefined && namesWeakly(noneMatch, tag);
}

/**
 * What a handler returns to answer with a text and its tag; nothing where who asks has it already, and was told so.
 *
 * Fastify sends what is returned a little later, when whoever came in with the same packet of the database was worked for as well.
 * To send it at once makes everything around it slower: each answer then finds the caches full of what sending took.
 */
export function taggedAnswer(
  responses: ResponseBuffer,
  request: FastifyRequest,
  reply: FastifyReply,
  tag: string,
  type: string,
  body: string,
): string | undefined {
  const known = isKnown(request.headers, tag);
  if (!known) responses.admit(request, reply, body);
  reply.header('etag', tag);
  if (known) {
    reply.code(304).send();
    return undefined;
  }
  reply.header('content-type', type);
  return body;
}
