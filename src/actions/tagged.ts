import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../errors.ts';
import { namesStrongly, namesWeakly, readTags } from '../response/entity-tag.ts';
import type { ResponseBuffer } from '../response/response-buffer.ts';

/** Whether the client has the response with this tag already (RFC 9110, 13.2.2). Throws 412 if it requires another tag. */
export function isKnown({ 'if-match': match, 'if-none-match': noneMatch }: IncomingHttpHeaders, tag: string): boolean {
  if (match !== undefined && !namesStrongly(readTags(match) ?? [], tag)) {
    throw problem('precondition_failed', { reason: `the response has the ETag ${tag} now` });
  }
  return noneMatch !== undefined && namesWeakly(noneMatch, tag);
}

/**
 * The body that a handler returns to send it with its tag; undefined if the client has it already and 304 was sent.
 *
 * Fastify sends a returned body a little later, after all requests whose rows came in the same packet of the database were
 * processed. Sending it at once makes everything around it slower: each response then finds the caches filled by the
 * one before.
 */
export function taggedResponse(
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
