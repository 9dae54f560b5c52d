/** Milliseconds that the server has to end a statement itself, once its time is over. */
const grace = 1000;

/** Milliseconds between two looks. */
const beat = 500;

/** The milliseconds after which a server that has answered nothing is given up; null where statements may take any time. */
export function silenceOf({ statementTimeout }: { readonly statementTimeout: number }): number | null {
  return statementTimeout > 0 ? statementTimeout + grace : null;
}

/**
 * Cuts connections on which the server does not answer, be it stopped or cut off. It would have ended a statement that takes too
 * long, so that nothing comes any more. Looks only while something is asked.
 */
export class SilenceWatch {
  readonly #limit: number;
  readonly #askedAt: () => number | null;
  readonly #cut: () => void;
  #timer: NodeJS.Timeout | null = null;

  /**
   * @param limit Milliseconds without an answer.
   * @param askedAt Since when an answer is waited for; null where none is.
   */
  constructor(limit: number, askedAt: () => number | null, cut: () => void) {
    this.#limit = limit;
    this.#askedAt = askedAt;
    this.#cut = cut;
  }

  /** To be called whenever something was asked. */
  watch(): void {
    if (this.#timer === null) this.#timer = setInterval(() => this.#look(), beat).unref();
  }

  #look(): void {
    const askedAt = this.#askedAt();
    if (askedAt !== null && performance.now() - askedAt < this.#limit) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    if (askedAt !== null) this.#cut();
  }
}
