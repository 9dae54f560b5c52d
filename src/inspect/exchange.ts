import type { IncomingMessage, RequestOptions, Server } from 'node:http';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';

// Imported as a module it would give out all that it has, for which Node loads a whole HTTP client of its own.
const { request: send } = process.getBuiltinModule('node:http');

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Received {
  readonly status: number;
  readonly text: string;
}

/** Sends a request to a server that listens nowhere, byte by byte as it would come over a network. */
export function exchange(server: Server, { method, path, headers, body }: Sent): Promise<Received> {
  const [ours, theirs] = duplexPair();
  server.emit('connection', theirs);
  // Node would send the body of a DELETE without its length
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options = {
    method,
    path,
    headers: { ...length, ...headers },
    host: 'localhost',
    createConnection: () => ours,
  } as RequestOptions;
  return new Promise<Received>((resolve, reject) => {
    const request = send(options, (response: IncomingMessage) => {
      text(response).then((body) => resolve({ status: response.statusCode as number, text: body }), reject);
    });
    request.on('error', reject);
    request.end(body);
  }).finally(() => {
    ours.destroy();
    theirs.destroy();
  });
}
