import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Ids that are accepted from callers: they go into headers and logs, and must be harmless there. */
const acceptedId = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Kept on the request itself, so that all handlers of a request use the same id. */
const idKey = Symbol('request id');

/** The ids of requests, in responses and in the log. */
export class RequestIds {
  /** The name of the header, in lower case. */
  readonly header: string;
  /** Random, so that no two processes generate the same id. */
  readonly #prefix = `${randomBytes(8).toString('hex')}-`;
  #last = randomBytes(4).readUInt32LE();

  constructor(header: string) {
    this.header = header.toLowerCase();
  }

  /** The id that the caller sent, if it is accepted, or else a new one. */
  of(request: IncomingMessage): string {
    const known = request as { [idKey]?: string };
    known[idKey] ??= this.#given(request) ?? this.next();
    return known[idKey];
  }

  /** Ids are unique, not secret. Steps of this size visit every number before they repeat one. */
  next(): string {
    const n = (this.#last + 0x9e3779b9) >>> 0;
    this.#last = n;
    return `${this.#prefix}${n.toString(16).padStart(8, '0')}`;
  }

  #given({ headers }: IncomingMessage): string | undefined {
    const given = headers[this.header];
    return typeof given === 'string' && acceptedId.test(given) ? given : undefined;
  }
}
