import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerName } from '../access/caller.ts';
import type { ServerDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { nextTurn, type Pace } from '../event-loop.ts';
import { retryLater } from './problem-document.ts';

/** Bytes up to which a response is not counted. `max_concurrent` bounds the number of such responses. */
const uncounted = 65_536;

/** UTF-8 has no more bytes than this for one UTF-16 code unit. */
const bytesPerUnit = 3;

/**
 * Bounds the bytes of responses that are being written, or were sent and have not been read by their clients yet. Without room
 * for a response, its request is rejected; one caller gets at most half of the room.
 */
export class ResponseBuffer {
  readonly #limit: number;
  readonly #room: number;
  readonly #stallTimeout: number;
  readonly #unchecked: number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();
  readonly #rooms = new WeakMap<ServerResponse, Room>();

  constructor({ responseBuffer, responseLimit, stallTimeout }: ServerDeclaration) {
    this.#limit = responseLimit;
    this.#room = responseBuffer;
    this.#stallTimeout = stallTimeout;
    this.#unchecked = Math.floor(Math.min(uncounted, responseLimit) / bytesPerUnit);
  }

  /** Throws 413 if the body is too large, and 503 if the memory for responses is used up. Responses to writes count, but are not rejected. */
  admit(request: FastifyRequest, reply: FastifyReply, body: string): void {
    if (body.length <= this.#unchecked) return;
    this.#admit(request, reply.raw, Buffer.byteLength(body));
    if (this.#stallTimeout > 0) reply.raw.setTimeout(this.#stallTimeout, () => reply.raw.destroy());
  }

  /**
   * Makes room for a body that is being written, before it and its rows take more memory. Then waits for the next turn: see
   * {@link Pace}.
   */
  makeRoom(request: FastifyRequest, reply: FastifyReply, ...[length, part]: Parameters<Pace>): Promise<void> {
    if (length > this.#limit) throw problem('response_too_large', { limit: this.#limit });
    this.#admit(request, reply.raw, Math.min(Math.ceil(length / part), this.#limit));
    return nextTurn();
  }

  #admit(request: FastifyRequest, response: ServerResponse, bytes: number): void {
    const { method } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && bytes > this.#limit) throw problem('response_too_large', { limit: this.#limit });
    if (bytes <= uncounted) return;
    const room = this.#rooms.get(response) ?? this.#roomOf(callerName(request), response);
    if (isRead && !this.#hasRoom(room, bytes)) throw problem('overloaded', {}, { headers: retryLater });
    this.#resize(room, bytes);
  }

  /** A response always has room if there is no other one, in total and of its caller. */
  #hasRoom({ bytes: held, caller }: Room, bytes: number): boolean {
    const others = this.#held - held;
    const own = (this.#heldBy.get(caller) ?? 0) - held;
    return (others === 0 || others + bytes <= this.#room) && (own === 0 || own + bytes <= this.#room / 2);
  }

  /** The room of a response, with no bytes yet. It is released when the response ends. */
  #roomOf(caller: string, response: ServerResponse): Room {
    const room: Room = { caller, bytes: 0, isOpen: !response.destroyed };
    this.#rooms.set(response, room);
    const release = () => {
      this.#resize(room, 0);
      room.isOpen = false;
    };
    response.once('finish', release).once('close', release);
    return room;
  }

  #resize(room: Room, bytes: number): void {
    if (!room.isOpen) return;
    this.#held += bytes - room.bytes;
    const own = (this.#heldBy.get(room.caller) ?? 0) + bytes - room.bytes;
    if (own > 0) this.#heldBy.set(room.caller, own);
    else this.#heldBy.delete(room.caller);
    room.bytes = bytes;
  }
}

/** The memory that a response takes. */
interface Room {
  readonly caller: string;
  bytes: number;
  /** Whether the response has not ended. */
  isOpen: boolean;
}
