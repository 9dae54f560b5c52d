/** Milliseconds that the server has to end a statement itself, once its time is over. */
const grace = 1000;

/** Milliseconds between two looks. */
const beat = 250;

/** A client of `pg`, and what it waits for. */
interface Client {
  _getActiveQuery(): unknown;
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * Cuts connections on which the server does not answer, be it stopped or cut off. It would have ended a statement that takes too
 * long, so that nothing comes any more. Looks only while something is asked.
 */
export class SilenceWatch {
  readonly #limit: number;
  readonly #asked = new Map<Client, { readonly query: unknown; readonly since: number }>();
  #timer: NodeJS.Timeout | null = null;

  /** @param statementTimeout Milliseconds after which the server ends a statement; 0: never, and nothing is cut. */
  constructor({ statementTimeout }: { readonly statementTimeout: number }) {
    this.#limit = statementTimeout > 0 ? statementTimeout + grace : Number.POSITIVE_INFINITY;
  }

  /** To be called when a client that had nothing to do is used. */
  watch(client: unknown): void {
    if (this.#limit === Number.POSITIVE_INFINITY) return;
    this.#asked.set(client as Client, { query: null, since: 0 });
    this.#timer ??= setInterval(() => this.#look(), beat).unref();
  }

  #look(): void {
    const now = performance.now();
    for (const [client, { query, since }] of this.#asked) {
      const current = client._getActiveQuery() ?? null;
      if (current === null) this.#asked.delete(client);
      else if (current !== query) this.#asked.set(client, { query: current, since: now });
      else if (now - since >= this.#limit) {
        this.#asked.delete(client);
        client.connection.stream.destroy();
      }
    }
    if (this.#asked.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
