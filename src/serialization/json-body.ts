import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem } from '../errors.ts';

/** Bodies are JSON: Fastify's own reading of plain text is switched off, and a merge patch may be called one. */
export function acceptJson(app: FastifyInstance, depth: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  app.addContentTypeParser<Buffer>(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request, bytes, done) => {
      if (request.method !== 'PATCH' && /merge-patch/i.test(request.headers['content-type'] ?? '')) {
        done(problem('unsupported_media_type', { allowed: 'application/json' }));
        return;
      }
      if (isEncoded(request)) {
        done(problem('unsupported_media_type', { allowed: 'application/json in UTF-8, not compressed' }));
        return;
      }
      if (bytes.length === 0) {
        done(null, undefined);
        return;
      }
      if (nestsDeeper(bytes, depth)) {
        done(problem('body_too_deep', { limit: depth }));
        return;
      }
      let body: string;
      try {
        body = utf8.decode(bytes);
      } catch (error) {
        done(problem('invalid_body', { reason: 'it is no valid UTF-8' }, { cause: error }));
        return;
      }
      release(bytes);
      parse(request, body, (error, value) => {
        if (error) done(problem('invalid_body', { reason: reasonOf(body) }, { cause: error }));
        else done(null, value);
      });
    },
  );
}

/** Gives back the memory of a long body that was decoded: the collector would do so only when it gets round to it. */
function release({ buffer, length }: Buffer): void {
  // what is shorter may be part of a buffer that others have parts of
  if (length > 65_536 && buffer.byteLength === length) (buffer as ArrayBuffer).transfer(0);
}

/** Whether lists and objects are nested deeper than a number; what is in strings does not count. */
export function nestsDeeper(bytes: Uint8Array, most: number): boolean {
  // too short for it
  if (bytes.length <= most) return false;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > most) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      case 0x22: // "
        for (i++; i < bytes.length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
    }
  }
  return false;
}

/** JSON is UTF-8, and a body is taken as it comes. */
function isEncoded({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1];
  const encoding = headers['content-encoding'];
  return (
    (charset !== undefined && !/^utf-?8$/i.test(charset)) || (encoding !== undefined && encoding.toLowerCase() !== 'identity')
  );
}

/** What parses by itself was refused for a key that would reach into prototypes. */
function reasonOf(body: string): string {
  try {
    JSON.parse(body);
    return 'it holds the key "__proto__" or "constructor"';
  } catch {
    return 'it is no valid JSON';
  }
}
