import { awaited, type StatementWatch, timedAsync } from '../../database/statement-watch.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { silenceOf } from './silence.ts';

/** What we need to know of a pool of `pg`, which is loaded only where it is used. */
export interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  on(event: 'acquire' | 'remove', listener: (client: Client) => void): unknown;
  on(event: 'release', listener: (error: unknown, client: Client) => void): unknown;
}

interface Client {
  /** Gives the client back to its pool; with an error, the pool drops it. */
  release?(error?: Error): void;
  once(event: 'end', listener: () => void): unknown;
  query(...args: unknown[]): unknown;
  readonly connection: { readonly stream: { destroy(): void } };
  _getActiveQuery(): unknown;
}

/** Milliseconds between two looks. */
const beat = 500;

/** Milliseconds after which a client whose connection has ended is taken back from a holder that did not release it. */
const releaseDelay = 500;

/** Takes lost connections back from transactions: Kysely releases a connection after a rollback, and not after one that failed. */
export function reclaimLost(pool: Pool): void {
  const held = new Set<Client>();
  const known = new WeakSet<Client>();
  pool.on('acquire', (client) => {
    held.add(client);
    if (known.has(client)) return;
    known.add(client);
    client.once('end', () => {
      setTimeout(() => {
        if (held.has(client)) client.release?.(new Error('the connection was lost'));
      }, releaseDelay).unref();
    });
  });
  pool.on('release', (_error, client) => held.delete(client));
  pool.on('remove', (client) => held.delete(client));
}

/** Cuts connections of a pool on which the server does not answer any more; the pool opens others. */
export function watchPool(pool: Pool, database: DatabaseDeclaration): void {
  const limit = silenceOf(database);
  if (limit === null) return;
  const used = new Map<Client, { readonly query: unknown; readonly since: number }>();
  let timer: NodeJS.Timeout | null = null;

  function look(): void {
    const now = performance.now();
    for (const [client, { query, since }] of used) {
      const current = client._getActiveQuery() ?? null;
      if (current === null) used.delete(client);
      else if (current !== query) used.set(client, { query: current, since: now });
      else if (now - since >= (limit as number)) {
        used.delete(client);
        client.connection.stream.destroy();
      }
    }
    if (used.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  }

  pool.on('acquire', (client) => {
    used.set(client, { query: null, since: performance.now() });
    timer ??= setInterval(look, beat).unref();
  });
  pool.on('remove', (client) => used.delete(client));
}

/** Watches what is sent over the connections of a pool, from the first use of each on after there is somebody who watches. */
export function watchClients(pool: Pool, watchOf: () => StatementWatch | undefined): void {
  const known = new WeakSet<Client>();
  pool.on('acquire', (client) => {
    const watch = watchOf();
    if (!watch || known.has(client)) return;
    known.add(client);
    const { query } = client;
    client.query = (...args) => {
      const [first] = args;
      const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text;
      const calledBack =
        typeof args.at(-1) === 'function' || typeof (first as { submit?: unknown } | undefined)?.submit === 'function';
      const send = () => query.apply(client, args) as Promise<unknown>;
      // who does not wait for a promise is somebody with a cursor of their own
      if (typeof text !== 'string' || calledBack) return send();
      return awaited(watch, text, () => timedAsync(watch, send));
    };
  });
}
