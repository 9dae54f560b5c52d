import type { IncomingMessage, RequestOptions, Server } from 'node:http';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';

// An import of the module would evaluate all its exports, and Node would load the HTTP client of fetch.
const { request: send } = process.getBuiltinModule('node:http');

export interface Received {
  readonly status: number;
  readonly text: string;
}

/** Sends a request, as bytes, to a server that does not listen. */
export function exchange(server: Server, options: RequestOptions, body: string | undefined): Promise<Received> {
  const [ours, theirs] = duplexPair();
  server.emit('connection', theirs);
  // Node would send the body of a DELETE without its length
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const headers = { ...length, ...options.headers };
  const sent = { ...options, headers, host: 'localhost', createConnection: () => ours } as RequestOptions;
  return new Promise<Received>((resolve, reject) => {
    const request = send(sent, (response: IncomingMessage) => {
      text(response).then((body) => resolve({ status: response.statusCode as number, text: body }), reject);
    });
    request.on('error', reject);
    request.end(body);
  }).finally(() => {
    ours.destroy();
    theirs.destroy();
  });
}
