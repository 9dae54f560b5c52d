import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { problem } from '../errors.ts';
import { namesStrongly, namesWeakly, readTags } from '../response/entity-tag.ts';

/** What is kept is asked about again each time, and by nobody else: what an answer shows depends on who asks. */
const caching = 'private, no-cache';

/** Whether who asks has the answer with this tag already (RFC 9110, 13.2.2). Throws 412 where another one was asked for. */
export function isKnown({ 'if-match': match, 'if-none-match': noneMatch }: IncomingHttpHeaders, tag: string): boolean {
  if (match !== undefined && !namesStrongly(readTags(match) ?? [], tag)) {
    throw problem('precondition_failed', { reason: `it has the tag ${tag} now` });
  }
  return noneMatch !== undefined && namesWeakly(noneMatch, tag);
}

/** Sends a text with its tag, or 304 to who has it already. */
export function sendTagged(
  headers: IncomingHttpHeaders,
  reply: FastifyReply,
  tag: string,
  type: string,
  body: string,
): FastifyReply {
  const known = isKnown(headers, tag);
  reply.header('etag', tag);
  defaultCaching(reply);
  return known ? reply.code(304).send() : reply.header('content-type', type).send(body);
}

/** Says how an answer with a tag is kept, unless somebody has said so. */
export function defaultCaching(reply: FastifyReply): void {
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', caching);
}
