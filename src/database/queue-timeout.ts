import { lateError } from './unavailable.ts';

interface Waiting {
  readonly since: number;
  readonly reject: (error: Error) => void;
}

/** Lets nobody wait in a line for longer than a number of milliseconds; 0 means no limit. */
export class QueueTimeout {
  readonly #line: Waiting[];
  readonly #limit: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(line: Waiting[], limit: number) {
    this.#line = line;
    this.#limit = limit;
  }

  /** To be called whenever somebody was left waiting. */
  watch(): void {
    if (this.#limit === 0 || this.#timer !== null) return;
    this.#timer = setInterval(() => this.#look(), Math.min(Math.max(this.#limit / 4, 10), 250)).unref();
  }

  #look(): void {
    const now = performance.now();
    for (let i = 0; i < this.#line.length; ) {
      const { since, reject } = this.#line[i] as Waiting;
      if (now - since < this.#limit) i++;
      else {
        this.#line.splice(i, 1);
        reject(lateError());
      }
    }
    if (this.#line.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
