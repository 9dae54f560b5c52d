import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDeclaration } from '../declaration/types.ts';
import { Problem, problem } from '../errors.ts';
import { readBytes } from './body-bytes.ts';
import { isLongBody, parseBody, parseLongBody } from './long-body.ts';

/** Accepts JSON only: removes Fastify's parser of plain text, and accepts the media type of merge patches. */
export function acceptJson(app: FastifyInstance, { bodyLimit, jsonDepth }: ServerDeclaration): void {
  const fastifyParser = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();

  function read(request: FastifyRequest, bytes: Buffer): unknown {
    if (request.method !== 'PATCH' && /merge-patch/i.test(request.headers['content-type'] ?? ''))
      throw problem('unsupported_media_type', { allowed: 'application/json' });
    if (isEncoded(request)) throw problem('unsupported_media_type', { allowed: 'application/json in UTF-8, not compressed' });
    if (bytes.length === 0) return undefined;
    const parse = (text: string) => {
      let outcome: { readonly error: Error | null; readonly value: unknown } | undefined;
      fastifyParser(request, text, (error, value) => {
        outcome = { error, value };
      });
      if (outcome?.error) throw problem('invalid_body', { reason: reasonOf(text) }, { cause: outcome.error });
      return outcome?.value;
    };
    const tooDeep = () => problem('body_too_deep', { limit: jsonDepth });
    if (isLongBody(bytes)) return parseLongBody(bytes, parse, jsonDepth, tooDeep);
    if (nestsDeeper(bytes, jsonDepth)) throw tooDeep();
    return parseBody(bytes, parse);
  }

  app.addContentTypeParser(['application/json', 'application/merge-patch+json'], (request, payload, done) => {
    readBytes(request, payload, bodyLimit, (...[error, bytes]) => {
      if (error) {
        done(error);
        return;
      }
      const refuse = (cause: unknown) =>
        done(cause instanceof Problem ? cause : problem('invalid_body', { reason: 'it is not valid UTF-8' }, { cause }));
      let value: unknown;
      try {
        value = read(request, bytes);
      } catch (cause) {
        refuse(cause);
        return;
      }
      if (value instanceof Promise) value.then((read) => done(null, read), refuse);
      else done(null, value);
    });
  });
}

/** Whether lists and objects are nested deeper than a number of levels. Brackets in strings do not count. */
function nestsDeeper(bytes: Uint8Array, most: number): boolean {
  // too short to be that deep
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

/** Whether a body is compressed or not in UTF-8. Both are rejected. */
function isEncoded({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1];
  const encoding = headers['content-encoding'];
  return (
    (charset !== undefined && !/^utf-?8$/i.test(charset)) || (encoding !== undefined && encoding.toLowerCase() !== 'identity')
  );
}

/** If the body is valid JSON, Fastify's parser has rejected a key that could change prototypes. Escapes can hide its name. */
function reasonOf(body: string): string {
  try {
    // parsing a long body again takes long
    if (!/__proto__|constructor|\\u/.test(body)) throw new SyntaxError();
    JSON.parse(body);
    return 'it contains the key "__proto__" or "constructor"';
  } catch {
    return 'it is not valid JSON';
  }
}
