import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../errors.ts';
import { alwaysJson, noSniffing, noStore, type ProblemFormatOf, writtenProblem } from '../response/problem-document.ts';
import { targetOf } from '../response/request-target.ts';
import type { RequestIds } from './request-id.ts';

/** Bytes of an unread body up to which the connection stays open after a rejection. */
const maxUnreadBytes = 65_536;

/** Sends a problem document without Fastify, for rejected requests and those that timed out. */
export function writeProblem(
  found: Problem,
  request: IncomingMessage,
  response: ServerResponse,
  ids: RequestIds | null,
  formatOf: ProblemFormatOf = alwaysJson,
): void {
  const { path } = targetOf(request.url ?? '/');
  const { body, type } = writtenProblem(found, path, formatOf(path));
  if (hasLargeBody(request)) response.setHeader('Connection', 'close');
  if (ids) response.setHeader(ids.header, ids.of(request));
  response.setHeader(noSniffing.name, noSniffing.value);
  response.setHeader(noStore.name, noStore.value);
  for (const [name, value] of Object.entries(found.headers)) response.setHeader(name, value);
  response.writeHead(found.status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function hasLargeBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > maxUnreadBytes;
}
