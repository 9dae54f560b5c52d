import type { Pool, PoolClient } from 'pg';
import { awaited, type StatementWatch, timed } from '../../database/statement-watch.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { closeUnresponsive } from './close-unresponsive.ts';

/** Milliseconds after which a client whose connection has ended is released, if its holder did not release it. */
const releaseDelay = 500;

/**
 * Watches the connections of a pool. Connections on which the server does not respond are closed, and the pool opens others. Lost
 * connections of transactions are released here: Kysely releases a connection after a rollback, but not if the rollback failed.
 */
export function watchPool(pool: Pool, database: DatabaseDeclaration, watchOf: () => StatementWatch | undefined): void {
  const held = new Set<PoolClient>();
  const known = new WeakSet<PoolClient>();
  const watched = new WeakSet<PoolClient>();
  const reclaim = (client: PoolClient) => {
    if (held.has(client)) client.release(new Error('the connection was lost'));
  };
  pool.on('acquire', closeUnresponsive(database));
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

function watchStatements(client: PoolClient, watch: StatementWatch): void {
  const query: (...args: unknown[]) => unknown = client.query;
  (client as { query: unknown }).query = (...args: unknown[]) => {
    const [first] = args;
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text;
    const calledBack =
      typeof args.at(-1) === 'function' || typeof (first as { submit?: unknown } | undefined)?.submit === 'function';
    const send = () => query.apply(client, args) as Promise<unknown>;
    // a caller with a callback or a submittable has a cursor of its own, and awaits no promise
    if (typeof text !== 'string' || calledBack) return send();
    return awaited(watch, text, () => timed(watch, send));
  };
}
