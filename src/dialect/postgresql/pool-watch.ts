import { awaited, type StatementWatch, timed } from '../../database/statement-watch.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { watchSilence } from './silence.ts';

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

/**
 * Watches the connections of a pool. Those on which the server does not respond are cut, and the pool opens others. Lost ones are taken
 * back from transactions: Kysely releases a connection after a rollback, and not after one that failed.
 */
export function watchPool(pool: Pool, database: DatabaseDeclaration, watchOf: () => StatementWatch | undefined): void {
  const held = new Set<Client>();
  const known = new WeakSet<Client>();
  const watched = new WeakSet<Client>();
  const reclaim = (client: Client) => {
    if (held.has(client)) client.release?.(new Error('the connection was lost'));
  };
  pool.on('acquire', watchSilence(database));
  pool.on('acquire', (client) => {
    held.add(client);
    if (!known.has(client)) client.once('end', () => setTimeout(reclaim, releaseDelay, client).unref());
    known.add(client);
    const watch = watchOf();
    if (watch && !watched.has(client)) watchStatements(client, watch);
    if (watch) watched.add(client);
  });
  pool.on('release', (_error, client) => held.delete(client));
  pool.on('remove', (client) => held.delete(client));
}

function watchStatements(client: Client, watch: StatementWatch): void {
  const { query } = client;
  client.query = (...args) => {
    const [first] = args;
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text;
    const calledBack =
      typeof args.at(-1) === 'function' || typeof (first as { submit?: unknown } | undefined)?.submit === 'function';
    const send = () => query.apply(client, args) as Promise<unknown>;
    // a caller that does not await a promise has a cursor of its own
    if (typeof text !== 'string' || calledBack) return send();
    return awaited(watch, text, () => timed(watch, send));
  };
}
