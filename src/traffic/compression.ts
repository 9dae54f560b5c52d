import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance, FastifyPluginCallback, onRequestHookHandler, onSendHookHandler } from 'fastify';
import type { CompressDeclaration } from '../declaration/types.ts';
import { addVary } from '../response/vary.ts';

const packageName = '@fastify/compress';

/** Types whose text is worth compressing, with those of exports. */
const compressibleTypes = /^text\/(?!event-stream)|^application\/(?:[\w.-]+\+)?(?:json|xml|x-ndjson|ndjson|javascript)\b/i;

/**
 * Compresses the responses of all routes that are added later. The package is looked up from the given files.
 *
 * A strong tag identifies bytes, so the tag of a compressed response ends with its encoding (RFC 9110, 8.8.3.3). Requests may name
 * a tag with any of these endings, or without one: all stand for the same version of the row.
 */
export async function compressResponses(
  app: FastifyInstance,
  { encodings, threshold }: CompressDeclaration,
  places: readonly string[],
): Promise<void> {
  const plugin = await load(places);
  /** `If-None-Match` as it was sent. */
  const sent = new WeakMap<IncomingMessage, string>();
  const ending = new RegExp(`-(?:${encodings.join('|')})"`, 'g');

  const readTags: onRequestHookHandler = ({ headers, raw }, _reply, done) => {
    const { 'if-match': match, 'if-none-match': noneMatch } = headers;
    if (match !== undefined) headers['if-match'] = match.replace(ending, '"');
    if (noneMatch !== undefined) {
      sent.set(raw, noneMatch);
      headers['if-none-match'] = noneMatch.replace(ending, '"');
    }
    done();
  };
  const writeTag: onSendHookHandler = ({ raw }, reply, payload, done) => {
    addVary(reply, 'Accept-Encoding');
    const tag = reply.getHeader('etag');
    const encoding = reply.getHeader('content-encoding');
    if (typeof tag === 'string' && tag.startsWith('"')) {
      const known = reply.statusCode === 304 ? encodingIn(sent.get(raw), tag) : null;
      const added = encoding ?? known;
      if (added) reply.header('etag', `${tag.slice(0, -1)}-${added}"`);
    }
    done(null, payload);
  };
  /** The ending of a tag in `If-None-Match`: a 304 has the tag of the response that the client keeps. */
  const encodingIn = (header: string | undefined, tag: string) =>
    encodings.find((encoding) => header?.includes(`${tag.slice(0, -1)}-${encoding}"`));

  app.addHook('onRequest', readTags);
  // bodies of requests are not decompressed: a small one could become very large
  const options = { encodings: [...encodings], threshold, globalDecompression: false, customTypes: compressibleTypes };
  await app.register(plugin, options);
  // the plugin adds its own hook to each route before this one
  app.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], writeTag].flat();
  });
}

/** Where the package is looked up: it belongs to the application, or is installed beside this one. */
export function compressionPlaces(directory: string): string[] {
  return [join(directory, 'package.json'), import.meta.filename];
}

/** The file of the package; throws if it is not installed. */
export function compressionFile(places: readonly string[]): string {
  for (const place of places) {
    try {
      return createRequire(place).resolve(packageName);
    } catch {}
  }
  throw new Error(
    `app_main.server.compress needs the package ${packageName}; run "npm install ${packageName}", or remove the key`,
  );
}

async function load(places: readonly string[]): Promise<FastifyPluginCallback<Readonly<Record<string, unknown>>>> {
  return (await import(pathToFileURL(compressionFile(places)).href)).default;
}
