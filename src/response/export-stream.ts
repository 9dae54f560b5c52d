import { Readable } from 'node:stream';
import { nextTurn } from '../event-loop.ts';

/** Responses without a total time limit: they may take any time while the client keeps reading. */
const withoutTimeLimit = new WeakSet<object>();

/** Whether a response is exempt from the total time limit, because only its stall timeout applies. */
export function isExemptFromTimeout(response: object): boolean {
  return withoutTimeLimit.has(response);
}

export function exemptFromTimeout(response: object): void {
  withoutTimeLimit.add(response);
}

export interface ExportSource {
  /** The next lines; null at the end. */
  next(): Promise<string | null>;
  /** Releases what the export holds. It may be called while `next` is pending. */
  close(): Promise<void>;
}

interface ExportStreamOptions {
  /** The text that was read before the response began. */
  readonly start: string;
  /** Milliseconds after which the export fails if the client reads nothing; 0 means no limit. */
  readonly stallTimeout: number;
  /** Called when the source is closed. */
  readonly onFreed: () => void;
  /** Called with the time at which lines were sent, and with null when the client wants more. */
  readonly onUnread: (since: number | null) => void;
}

/** An export as a stream. A piece is read when the client has taken the one before it. */
export class ExportStream extends Readable {
  readonly #source: ExportSource;
  readonly #stallTimeout: number;
  readonly #onFreed: () => void;
  readonly #onUnread: (since: number | null) => void;
  #start: string | null;
  #timer: NodeJS.Timeout | undefined;
  #isReleased = false;

  constructor(source: ExportSource, { start, stallTimeout, onFreed, onUnread }: ExportStreamOptions) {
    super({ highWaterMark: 1 });
    this.#source = source;
    this.#start = start;
    this.#stallTimeout = stallTimeout;
    this.#onFreed = onFreed;
    this.#onUnread = onUnread;
  }

  override _read(): void {
    clearTimeout(this.#timer);
    this.#onUnread(null);
    const start = this.#start;
    this.#start = null;
    if (start !== null && start !== '') this.#send(start);
    else this.#readNext().catch((error: Error) => this.destroy(error));
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#release();
    callback(error);
  }

  /** Closes the source once. A client that has not read the last lines yet does not keep it open. */
  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#source
      .close()
      .catch(() => undefined)
      .then(this.#onFreed);
  }

  async #readNext(): Promise<void> {
    let piece: string | null;
    do {
      // Without this, a client that reads fast would get its next piece before other requests are served.
      await nextTurn();
      if (this.destroyed) return;
      piece = await this.#source.next();
      // an empty piece does not end the export
    } while (piece === '');
    if (this.destroyed) return;
    if (piece === null) {
      this.#release();
      this.push(null);
    } else this.#send(piece);
  }

  #send(piece: string): void {
    this.#onUnread(performance.now());
    if (this.#stallTimeout > 0) {
      this.#timer = setTimeout(() => this.destroy(new StalledExport(`for ${this.#stallTimeout} ms`)), this.#stallTimeout);
    }
    this.push(piece);
  }
}

/** The client has stopped reading an export. */
export class StalledExport extends Error {
  constructor(when: string) {
    super(`the client read nothing from an export ${when}`);
  }
}
