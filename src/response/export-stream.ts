import { Readable } from 'node:stream';
import { nextTurn } from './turn.ts';

/** Answers that take as long as they take, as long as they are taken. */
const ownPace = new WeakSet<object>();

/** Whether an answer has a limit of its own, which is that it goes on. */
export function hasOwnPace(response: object): boolean {
  return ownPace.has(response);
}

export function leaveToOwnPace(response: object): void {
  ownPace.add(response);
}

export interface ExportSource {
  /** The next lines; null at the end. */
  next(): Promise<string | null>;
  /** Frees whatever the export holds, also while a piece is awaited. */
  close(): Promise<void>;
}

interface ExportStreamOptions {
  /** What was read before the first byte was sent. */
  readonly start: string;
  /** Milliseconds that nothing need be taken; 0 means no limit. */
  readonly stallTimeout: number;
  /** Called when everything has been given back. */
  readonly onFreed: () => void;
  /** Called with the time at which the client was sent lines, and with null when it wants more. */
  readonly onUnread: (since: number | null) => void;
}

/** An export as a stream: a piece is read when the one before it has been taken. */
export class ExportStream extends Readable {
  readonly #source: ExportSource;
  readonly #stallTimeout: number;
  readonly #onFreed: () => void;
  readonly #onUnread: (since: number | null) => void;
  #start: string | null;
  #timer: NodeJS.Timeout | undefined;
  #isFreed = false;

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
    if (start !== null && start !== '') this.#give(start);
    else this.#proceed().catch((error: Error) => this.destroy(error));
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#free();
    callback(error);
  }

  /** Nothing is kept for a client that has yet to take the last lines. */
  #free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.#source
      .close()
      .catch(() => undefined)
      .then(this.#onFreed);
  }

  async #proceed(): Promise<void> {
    let piece: string | null;
    do {
      // A client that reads fast asks for more before anybody else is served.
      await nextTurn();
      if (this.destroyed) return;
      piece = await this.#source.next();
      // an empty piece is no end
    } while (piece === '');
    if (this.destroyed) return;
    if (piece === null) {
      this.#free();
      this.push(null);
    } else this.#give(piece);
  }

  #give(piece: string): void {
    this.#onUnread(performance.now());
    if (this.#stallTimeout > 0) {
      this.#timer = setTimeout(() => this.destroy(new StalledExport(`for ${this.#stallTimeout} ms`)), this.#stallTimeout);
    }
    this.push(piece);
  }
}

/** Whoever asked for an export has stopped to take it. */
export class StalledExport extends Error {
  constructor(when: string) {
    super(`the client read nothing from an export ${when}`);
  }
}
