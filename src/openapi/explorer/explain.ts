import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseAddress } from '../../access/address.ts';
import { problem } from '../../errors.ts';
import { targetOf } from '../../response/request-target.ts';

/** Explains requests to the running application, without changing data. */
export interface Explanations {
  explain(request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  }): Promise<string>;
  close(): Promise<void>;
}

/** Headers that may have the credentials of the caller. */
const credentials = ['authorization', 'x-api-key', 'cookie'] as const;

/**
 * Sends the explanation of a request, which the parameters `method` and `path` name, as text. The request is made with the
 * credentials of the caller. An explanation has statements and decisions, so only pages of this server get one, on this machine.
 */
export async function sendExplanation(
  explanations: Explanations,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, path } = request.query as { method?: unknown; path?: unknown };
  const isRequest =
    typeof method === 'string' && /^[A-Z]{1,10}$/.test(method) && typeof path === 'string' && /^\/[\x21-\x7e]*$/.test(path);
  if (!isLocal(request) || !isRequest) throw problem('not_found', { path: targetOf(request.url).path });
  const sent = credentials.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  const text = await explanations.explain({ method, path, headers: Object.fromEntries(sent) });
  return reply.headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).send(text);
}

/** Whether a request comes from a page of this server, on this machine. A site can let its own host name resolve to this machine. */
function isLocal({ headers, hostname, raw }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin';
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  const isNamedLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return isOwn && !isForwarded && isNamedLocal && /^127\.|^::1$/.test(parseAddress(raw.socket.remoteAddress) ?? '');
}
