import { awaited, type StatementWatch, timed } from '../../database/statement-watch.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { SilenceWatch } from './silence.ts';

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
}

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
  const silence = new SilenceWatch(database);
  pool.on('acquire', (client) => silence.watch(client));
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
      return awaited(watch, text, () => timed(watch, send));
    };
  });
}
