import pg, { type PoolClient, type PoolConfig, type QueryResult } from 'pg';
import type { PostgresDatabase } from './pooling.ts';
import { declaredSettings, setForSession, setForTransaction } from './settings.ts';

/** Statements that PostgreSQL runs only by themselves. */
const alone = /^\s*(?:vacuum|(?:create|drop|alter)\s+(?:database|tablespace|system)|reindex|cluster)\b|\bconcurrently\b/i;

const begin = /^\s*(?:begin|start\s+transaction)\b/i;

type Send = (text: string, values?: readonly unknown[]) => Promise<QueryResult>;

/**
 * Makes the sessions of the mapper's pool have the declared settings. None of them is a startup parameter, because poolers
 * reject those that they do not know.
 */
export function poolSettings(database: PostgresDatabase): PoolConfig {
  const settings = declaredSettings(database);
  const forSession = setForSession(settings);
  const forTransaction = setForTransaction(settings);
  const { pooling } = database;

  async function prepare(client: PoolClient): Promise<void> {
    await pooling?.detect(client);
    if (!pooling?.isPooled && forSession !== null) await client.query(forSession);
  }

  /** A client that repeats the settings in each transaction if a pooler is between. */
  class MapperClient extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: pg has seven signatures
    override query(...args: any[]): any {
      const send = super.query.bind(this) as (...args: unknown[]) => Promise<QueryResult>;
      const [text, values] = args;
      // a caller with a callback or a submittable has a protocol of its own
      const isPlain = typeof text === 'string' && args.length <= 2 && typeof values !== 'function';
      if (!isPlain || !pooling?.isPooled || forTransaction === null) return send(...args);
      return this.getTransactionStatus() === 'I' ? withSettings(send, forTransaction, text, values) : send(text, values);
    }
  }

  return {
    Client: MapperClient as unknown as NonNullable<PoolConfig['Client']>,
    verify: (client, done) => void prepare(client).then(() => done(), done),
  };
}

/** Sends a statement outside of a transaction, or the one that begins a transaction. */
async function withSettings(send: Send, settings: string, text: string, values: readonly unknown[] = []): Promise<unknown> {
  if (alone.test(text)) return send(text, values);
  // several statements in one text are one transaction
  if (begin.test(text)) return resultsOf(await send(`${text}; ${settings}`)).at(0);
  if (values.length === 0) {
    const [, ...results] = resultsOf(await send(`${settings}; ${text}`));
    return results.length === 1 ? results[0] : results;
  }
  await send(`begin; ${settings}`);
  try {
    const result = await send(text, values);
    await send('commit');
    return result;
  } catch (error) {
    await send('rollback').catch(() => undefined);
    throw error;
  }
}

/** `pg` returns a list for several statements. */
function resultsOf(result: QueryResult | QueryResult[]): QueryResult[] {
  return Array.isArray(result) ? result : [result];
}
