import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '../errors.ts';
import { noSniffing, noStore, OtherProblem, STATUS_CODES, writtenProblem } from '../response/problem-document.ts';
import type { RequestIds } from './request-id.ts';
import { writeProblem } from './write-problem.ts';

/** Options of an HTTP server whose requests {@link framingProblem} checks. */
export const strictHttp = Object.freeze({
  // Node would reject a request without a host by itself, without a body
  requireHostHeader: false,
  // Node would drop all but the first `Host`, `Authorization` and `Content-Type`
  joinDuplicateHeaders: true,
});

function rejection(statusCode: number, message: string, headers: Readonly<Record<string, string>> = {}): Problem {
  return Object.assign(new OtherProblem(statusCode, message, undefined, 'bad_request'), { headers });
}

const closing = { connection: 'close' };
const noHost = rejection(400, 'the request has no Host header', closing);
const manyHosts = rejection(400, 'the request has more than one Host header', closing);
const oldCoding = rejection(400, 'a request in HTTP/1.0 must not have Transfer-Encoding', closing);
const unknownCoding = rejection(400, 'the only supported Transfer-Encoding is chunked', closing);
const unknownExpectation = rejection(417, 'the only supported Expect is 100-continue', closing);

/**
 * Finds headers by which this server and a proxy before it could disagree about where a request ends or for which host it is.
 * Node's parser rejects the other ones: see docs/about/security.md.
 */
export function framingProblem({ headers, httpVersion }: IncomingMessage): Problem | null {
  const { host, 'transfer-encoding': coding } = headers;
  if (host === undefined) {
    if (httpVersion !== '1.0') return noHost;
  } else if (host.includes(',')) return manyHosts;
  if (coding === undefined) return null;
  if (httpVersion === '1.0') return oldCoding;
  return coding.toLowerCase() === 'chunked' ? null : unknownCoding;
}

/** Sends problem documents for requests that Node itself rejects, in place of Node's own responses. */
export function handleRejected(server: Server, ids: RequestIds | null, { hasHandler = false } = {}): void {
  if (!hasHandler) server.on('clientError', (error, socket) => refuseConnection(error, socket as Socket, ids));
  server.on('checkExpectation', (request, response) => writeProblem(unknownExpectation, request, response, ids));
}

const rejected = new Map<unknown, readonly [number, string]>([
  ['HPE_HEADER_OVERFLOW', [431, 'the headers of the request are too large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'the request took too long to arrive']],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'the chunk extensions of the request are too long']],
]);
const malformed = [400, 'the request is not valid HTTP'] as const;

/** Responds to bytes that are not a valid request. Node creates neither a request nor a response object for them. */
export function refuseConnection(error: Error, socket: Socket, ids: RequestIds | null): void {
  const { code } = error as { code?: unknown };
  const { _httpMessage: current } = socket as { _httpMessage?: { readonly headersSent: boolean } | null };
  // after the head of another response, the client would read it as a part of that response
  if (code === 'ECONNRESET' || !socket.writable || current?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, reason] = rejected.get(code) ?? malformed;
  const { body, type } = writtenProblem(rejection(status, reason), '/', 'json');
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `${noSniffing.name}: ${noSniffing.value}`,
    `${noStore.name}: ${noStore.value}`,
    ...(ids ? [`${ids.header}: ${ids.next()}`] : []),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
