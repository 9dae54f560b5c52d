import { problem } from '../errors.ts';

/** Seconds after which a caller may try again. */
const retryAfter = '5';

/** Lets only so many exports run at once; others wait for a while. */
export class ExportPlaces {
  readonly #limit: number;
  readonly #patience: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** `patience`: milliseconds after which those who wait are turned away. */
  constructor(limit: number, patience: number) {
    this.#limit = limit;
    this.#patience = patience;
  }

  /** Waits for a place, and gives what gives it back. Whoever goes away meanwhile waits no longer. */
  async take(gone: AbortSignal): Promise<() => void> {
    if (this.#taken >= this.#limit) await this.#wait(gone);
    else this.#taken++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = this.#waiting;
      if (next) next();
      else this.#taken--;
    };
  }

  #wait(gone: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', refuse);
        this.#waiting.delete(enter);
      };
      // the place of whoever leaves passes on as it is
      const enter = (): void => {
        leave();
        resolve();
      };
      const refuse = (): void => {
        leave();
        reject(problem('too_many_exports', { limit: this.#limit }, { headers: { 'retry-after': retryAfter } }));
      };
      const timer = setTimeout(refuse, this.#patience);
      gone.addEventListener('abort', refuse, { once: true });
      this.#waiting.add(enter);
    });
  }
}
