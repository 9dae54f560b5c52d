import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What a caller may call a request: it goes into headers and logs, where it must not be able to do anything. */
const sane = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Kept on the request itself: whoever answers it, and it may be several who try, tells the same. */
const idKey = Symbol('request id');

/** What each request is called, in its answer and in the log. */
export class RequestIds {
  /** The header, in small letters. */
  readonly header: string;
  /** One for each process, so that no two give the same. */
  readonly #prefix = `${randomBytes(8).toString('hex')}-`;
  #last = randomBytes(4).readUInt32LE();

  constructor(header: string) {
    this.header = header.toLowerCase();
  }

  /** What the caller calls it, if that can be taken, or else a new id. */
  of(request: IncomingMessage): string {
    const known = request as { [idKey]?: string };
    known[idKey] ??= this.#given(request) ?? this.next();
    return known[idKey];
  }

  /** Ids are unique, and no secrets. Steps of this size come by every number before one comes again. */
  next(): string {
    const n = (this.#last + 0x9e3779b9) >>> 0;
    this.#last = n;
    return `${this.#prefix}${n.toString(16).padStart(8, '0')}`;
  }

  #given({ headers }: IncomingMessage): string | undefined {
    const given = headers[this.header];
    return typeof given === 'string' && sane.test(given) ? given : undefined;
  }
}
