import type { Declaration } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';

/** Seconds after which a caller may try again. */
const retryAfter = '5';

/** Milliseconds after which an export whose client reads nothing ends, if a caller with fewer exports waits. */
const stallTime = 3000;

/** Milliseconds between two checks for stalled exports, while others wait. */
const checkInterval = 250;

/** The place of a running export. */
export interface ExportPlace {
  /** Since when the client has not read the sent lines; null while the next lines are written. */
  unreadSince: number | null;
  /** Ends the export; null if it has not begun to send. */
  end: (() => void) | null;
  release(): void;
}

interface Waiting {
  readonly caller: string;
  enter(): void;
  refuse(): void;
}

/**
 * Limits how many exports run at once; others wait for a while. A caller gets half of the places, or all but one while nobody
 * else exports or waits. A free place goes to the waiting caller with the fewest running exports.
 */
export class ExportPlaces {
  readonly #limit: number;
  readonly #timeout: number;
  readonly #waiting = new Set<Waiting>();
  readonly #held = new Map<string, Set<ExportPlace>>();
  #taken = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  /** `timeout`: milliseconds after which waiting exports are rejected. */
  constructor(limit: number, timeout: number) {
    this.#limit = limit;
    this.#timeout = timeout;
  }

  /** Waits for a place, until the client disconnects. */
  async take(caller: string, gone: AbortSignal): Promise<ExportPlace> {
    if (this.#mayEnter(caller)) return this.#occupy(caller);
    return this.#wait(caller, gone);
  }

  /** Rejects all waiting exports, and from now on those that would have to wait. */
  close(): void {
    this.#isClosing = true;
    for (const { refuse } of [...this.#waiting]) refuse();
  }

  #countOf(caller: string): number {
    return this.#held.get(caller)?.size ?? 0;
  }

  #mayEnter(caller: string): boolean {
    return this.#taken < this.#limit && this.#countOf(caller) < this.#shareOf(caller);
  }

  #shareOf(caller: string): number {
    const isAlone = [...this.#held.keys(), ...Array.from(this.#waiting, (other) => other.caller)].every((one) => one === caller);
    if (isAlone) return this.#limit > 2 ? this.#limit - 1 : this.#limit;
    return Math.max(Math.floor(this.#limit / 2), 1);
  }

  #occupy(caller: string): ExportPlace {
    const places = this.#held.get(caller) ?? new Set();
    this.#held.set(caller, places);
    const place: ExportPlace = {
      unreadSince: null,
      end: null,
      release: () => {
        if (!places.delete(place)) return;
        if (places.size === 0 && this.#held.get(caller) === places) this.#held.delete(caller);
        this.#taken--;
        this.#admit();
      },
    };
    places.add(place);
    this.#taken++;
    return place;
  }

  /** Gives free places to waiting callers, those with the fewest exports first. */
  #admit(): void {
    for (;;) {
      const next = this.#fewest([...this.#waiting].filter(({ caller }) => this.#mayEnter(caller)));
      if (!next) return;
      next.enter();
    }
  }

  #fewest(waiting: readonly Waiting[]): Waiting | undefined {
    return waiting.reduce<Waiting | undefined>(
      (best, one) => (best && this.#countOf(best.caller) <= this.#countOf(one.caller) ? best : one),
      undefined,
    );
  }

  #wait(caller: string, gone: AbortSignal): Promise<ExportPlace> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', waiting.refuse);
        this.#waiting.delete(waiting);
        if (this.#waiting.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      };
      const waiting: Waiting = {
        caller,
        enter: () => {
          leave();
          resolve(this.#occupy(caller));
        },
        refuse: () => {
          leave();
          reject(problem('too_many_exports', { limit: this.#limit }, { headers: { 'retry-after': retryAfter } }));
          // a caller that is alone again may have more places
          this.#admit();
        },
      };
      const timer = setTimeout(waiting.refuse, this.#timeout);
      if (gone.aborted || this.#isClosing) return waiting.refuse();
      gone.addEventListener('abort', waiting.refuse, { once: true });
      this.#waiting.add(waiting);
      this.#timer ??= setInterval(() => this.#endStalled(), checkInterval).unref();
    });
  }

  /** Ends one export that its client does not read, if a caller with fewer exports waits. */
  #endStalled(): void {
    const next = this.#fewest([...this.#waiting]);
    if (!next) return;
    const limit = performance.now() - stallTime;
    const callers = [...this.#held].sort(([, one], [, other]) => other.size - one.size);
    for (const [, places] of callers) {
      if (places.size <= this.#countOf(next.caller)) return;
      const found = [...places].find(({ end, unreadSince }) => end && unreadSince !== null && unreadSince <= limit);
      if (found) {
        found.end?.();
        return;
      }
    }
  }
}

export function exportPlaces({ database, exports }: Declaration): ExportPlaces {
  return new ExportPlaces(exports.atOnce, database.connectTimeout);
}
