/** Milliseconds that the server has to end a statement itself after the statement timeout. */
const gracePeriod = 1000;

/** Milliseconds between two checks. */
const checkInterval = 250;

/** Internals of a `pg` client: the statement that it waits for, and its socket. */
interface Client {
  _getActiveQuery(): unknown;
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * Closes connections on which the server does not respond, because it is stopped or unreachable: a working server would have
 * ended the statement at its timeout. Call the returned function when an idle client is used. It starts a timer that runs while
 * statements are pending.
 *
 * @param statementTimeout Milliseconds after which the server ends a statement; 0: never, and no connection is closed.
 */
export function closeUnresponsive({ statementTimeout }: { readonly statementTimeout: number }): (client: unknown) => void {
  if (statementTimeout === 0) return () => undefined;
  const pending = new Map<Client, { readonly query: unknown; readonly since: number }>();
  let timer: NodeJS.Timeout | undefined;

  function checkAll(): void {
    const now = performance.now();
    for (const [client, { query, since }] of pending) {
      const current = client._getActiveQuery() ?? null;
      if (current === null) pending.delete(client);
      else if (current !== query) pending.set(client, { query: current, since: now });
      else if (now - since >= statementTimeout + gracePeriod) {
        pending.delete(client);
        client.connection.stream.destroy();
      }
    }
    if (pending.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return (client) => {
    pending.set(client as Client, { query: null, since: 0 });
    timer ??= setInterval(checkAll, checkInterval).unref();
  };
}
