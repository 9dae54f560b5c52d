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
 * Cuts connections on which the server does not respond, because it is stopped or cut off: it would have ended a statement that takes too
 * long. The returned function is to be called when an idle client is used; it starts a timer that runs while something is asked.
 *
 * @param statementTimeout Milliseconds after which the server ends a statement; 0: never, and nothing is cut.
 */
export function watchSilence({ statementTimeout }: { readonly statementTimeout: number }): (client: unknown) => void {
  if (statementTimeout === 0) return () => undefined;
  const asked = new Map<Client, { readonly query: unknown; readonly since: number }>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    for (const [client, { query, since }] of asked) {
      const current = client._getActiveQuery() ?? null;
      if (current === null) asked.delete(client);
      else if (current !== query) asked.set(client, { query: current, since: now });
      else if (now - since >= statementTimeout + grace) {
        asked.delete(client);
        client.connection.stream.destroy();
      }
    }
    if (asked.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return (client) => {
    asked.set(client as Client, { query: null, since: 0 });
    timer ??= setInterval(look, beat).unref();
  };
}
