import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesWeakly } from '../response/entity-tag.ts';
import { addVary } from '../response/vary.ts';

/** Smaller responses are not compressed. */
const compressFrom = 1024;

/** A response that is made once, and compressed for clients that accept gzip, or Brotli if those bytes are given. */
export class StaticResponse {
  readonly bytes: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  /** Weak: compressed responses have other bytes. */
  readonly #tag: string;
  readonly #brotli: Buffer | null;
  #compressed: Promise<Buffer> | null = null;

  constructor(text: string | Buffer, headers: Readonly<Record<string, string>>, brotli: Buffer | null = null) {
    this.#brotli = brotli;
    this.bytes = Buffer.from(text);
    this.#tag = `W/"${createHash('sha256').update(this.bytes).digest('base64url').slice(0, 22)}"`;
    this.#headers = { ...headers, etag: this.#tag, 'x-content-type-options': 'nosniff' };
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers(this.#headers);
    if (this.bytes.length >= compressFrom) addVary(reply, 'accept-encoding');
    const known = request.headers['if-none-match'];
    if (known !== undefined && namesWeakly(known, this.#tag)) return reply.code(304).send();
    const accepted = request.headers['accept-encoding'];
    if (this.#brotli && accepts('br', accepted)) return reply.header('content-encoding', 'br').send(this.#brotli);
    if (this.bytes.length < compressFrom || !accepts('gzip', accepted)) return reply.send(this.bytes);
    this.#compressed ??= promisify(gzip)(this.bytes);
    return reply.header('content-encoding', 'gzip').send(await this.#compressed);
  }
}

function accepts(encoding: 'br' | 'gzip', accepted: string | string[] | undefined): boolean {
  const expression = new RegExp(`^\\s*${encoding}\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*$)[\\d.]+\\s*)?$`, 'i');
  return String(accepted ?? '')
    .split(',')
    .some((part) => expression.test(part));
}

/** Runs the work on the first call, and again after a failure. */
export function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let done: Promise<Result> | null = null;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    });
    return done;
  };
}
