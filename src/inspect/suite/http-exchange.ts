import { Agent, type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib';

/** The response to a request over HTTP. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What `fetch` of Node sends unless the caller sets it. */
const defaultHeaders = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
};

const agent = new Agent({ keepAlive: true });

/** Sends a request like `fetch`, which needs several times as much CPU. Redirects are followed. */
export async function exchange(
  url: URL,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | null,
  redirects = 20,
): Promise<HttpResponse> {
  const [response, received] = await send(url, method, headers, body);
  const { statusCode: status = 0, rawHeaders } = response;
  const { location } = response.headers;
  if (location !== undefined && [301, 302, 303, 307, 308].includes(status)) {
    if (redirects === 0) throw new Error(`too many redirects; the last one leads to ${location}`);
    const becomesGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST';
    if (!becomesGet) return exchange(new URL(location, url), method, headers, body, redirects - 1);
    const kept = Object.entries(headers).filter(([name]) => !/^content-/i.test(name));
    return exchange(new URL(location, url), 'GET', Object.fromEntries(kept), null, redirects - 1);
  }
  const shown = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) shown.append(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  return { status, headers: shown, text: new TextDecoder().decode(decompressed(received, response.headers['content-encoding'])) };
}

function send(
  url: URL,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | null,
): Promise<[IncomingMessage, Buffer]> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method });
    for (const [name, value] of Object.entries({ ...defaultHeaders, ...lowerCase(headers) })) sent.setHeader(name, value);
    if (body !== null) {
      if (typeof body === 'string' && !sent.hasHeader('content-type')) sent.setHeader('content-type', 'text/plain;charset=UTF-8');
      // Node sends none for DELETE by itself
      if (!sent.hasHeader('content-length')) sent.setHeader('content-length', Buffer.byteLength(body));
    }
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve([response, Buffer.concat(chunks)]));
    });
    sent.end(body ?? undefined);
  });
}

/** Names in lower case. Values of the same name are joined. */
function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    joined[name] = joined[name] === undefined ? value.trim() : `${joined[name]}, ${value.trim()}`;
  }
  return joined;
}

function decompressed(received: Buffer, encoding: string | undefined): Buffer {
  if (received.length === 0) return received;
  switch (encoding) {
    case 'gzip':
      return gunzipSync(received, { finishFlush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      return inflateSync(received, { finishFlush: constants.Z_SYNC_FLUSH });
    case 'br':
      return brotliDecompressSync(received);
    default:
      return received;
  }
}
