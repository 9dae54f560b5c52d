import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerName } from '../access/caller.ts';
import type { ServerDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { retryLater } from './problem-document.ts';

/** Bytes up to which a response is not counted. `max_concurrent` bounds the number of such responses. */
const uncounted = 65_536;

/** UTF-8 has no more bytes than this for one UTF-16 code unit. */
const bytesPerUnit = 3;

/**
 * Bounds the bytes of responses that were sent and that their clients have not read yet. Without room for a response, its request is
 * rejected; one caller gets at most half of the room.
 */
export class ResponseBuffer {
  readonly #limit: number;
  readonly #room: number;
  readonly #stallTimeout: number;
  readonly #unchecked: number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();

  constructor({ responseBuffer, responseLimit, stallTimeout }: ServerDeclaration) {
    this.#limit = responseLimit;
    this.#room = responseBuffer;
    this.#stallTimeout = stallTimeout;
    this.#unchecked = Math.floor(Math.min(uncounted, responseLimit) / bytesPerUnit);
  }

  /** Throws 413 if the body is too large, and 503 if there is no room for it. Responses to writes are counted and never rejected. */
  admit(request: FastifyRequest, reply: FastifyReply, body: string): void {
    if (body.length > this.#unchecked) this.#admit(request, reply.raw, Buffer.byteLength(body));
  }

  #admit(request: FastifyRequest, response: ServerResponse, bytes: number): void {
    const { method } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && bytes > this.#limit) throw problem('response_too_large', { limit: this.#limit });
    if (method === 'HEAD' || bytes <= uncounted) return;
    const caller = callerName(request);
    if (isRead && !this.#hasRoom(caller, bytes)) throw problem('overloaded', {}, { headers: retryLater });
    this.#hold(caller, response, bytes);
    if (this.#stallTimeout > 0) response.setTimeout(this.#stallTimeout, () => response.destroy());
  }

  /** A response alone always has room. */
  #hasRoom(caller: string, bytes: number): boolean {
    const own = this.#heldBy.get(caller) ?? 0;
    return (this.#held === 0 || this.#held + bytes <= this.#room) && (own === 0 || own + bytes <= this.#room / 2);
  }

  #hold(caller: string, response: ServerResponse, bytes: number): void {
    this.#add(caller, bytes);
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#add(caller, -bytes);
      isHeld = false;
    };
    response.once('finish', release).once('close', release);
  }

  #add(caller: string, bytes: number): void {
    this.#held += bytes;
    const own = (this.#heldBy.get(caller) ?? 0) + bytes;
    if (own > 0) this.#heldBy.set(caller, own);
    else this.#heldBy.delete(caller);
  }
}
