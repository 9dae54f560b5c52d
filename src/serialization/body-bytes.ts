import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { problem } from '../errors.ts';

/** Up to this size, a body may be a received chunk, or part of a buffer that is shared with other code. */
const maxShared = 65_536;

type Payload = Readable & { readonly receivedEncodedLength?: number };

type Outcome = [error: Error, bytes?: undefined] | [error: null, bytes: Buffer];

/** Reads a whole body. A long body is in memory twice at most, however late garbage is collected. */
export function readBytes(
  { headers, raw }: FastifyRequest,
  payload: Payload,
  limit: number,
  done: (...outcome: Outcome) => void,
): void {
  const announced = headers['content-length'] === undefined ? null : Number(headers['content-length']);
  if (announced !== null && announced > limit) {
    done(problem('body_too_large', { limit }));
    return;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  payload.on('data', onData).on('end', onEnd).on('error', onError);
  payload.resume();

  function onData(data: Buffer | string): void {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data;
    length += chunk.length;
    chunks.push(chunk);
    if (length > limit || (payload.receivedEncodedLength ?? 0) > limit) stop(problem('body_too_large', { limit }));
  }

  function onEnd(): void {
    // another listener may keep the chunks
    const isAlone = payload === (raw as Payload) && payload.listenerCount('data') === 1;
    if (announced !== null && (payload.receivedEncodedLength ?? length) !== announced)
      stop(problem('invalid_body', { reason: 'its length differs from its Content-Length' }));
    else stop(null, chunks.length === 1 && length <= maxShared ? (chunks[0] as Buffer) : joined(chunks, length, isAlone));
  }

  function onError(error: Error & { statusCode?: unknown }): void {
    if (!(typeof error.statusCode === 'number' && error.statusCode >= 400)) error.statusCode = 400;
    stop(error);
  }

  function stop(...outcome: Outcome): void {
    payload.off('data', onData).off('end', onEnd).off('error', onError);
    done(...outcome);
  }
}

function joined(chunks: readonly Buffer[], length: number, isAlone: boolean): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const chunk of chunks) {
    at += chunk.copy(bytes, at);
    if (isAlone) release(chunk);
  }
  return bytes;
}

/** Frees the memory of a long body after decoding. */
export function releaseBody(bytes: Buffer): void {
  if (bytes.length > maxShared) release(bytes);
}

/** Frees memory without waiting for the garbage collector. A shared buffer is left alone. */
function release({ buffer, length }: Buffer): void {
  if (buffer.byteLength === length) (buffer as ArrayBuffer).transfer(0);
}
