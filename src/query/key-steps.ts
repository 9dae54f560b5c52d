import type { EntityMetadata } from '@mikro-orm/core';
import { databaseKindOf, type Mapper, type RequestEntityManager } from '../database/mapper.ts';
import type { QueryText } from './condition-query.ts';
import { keyReader } from './keys.ts';

/** Keys that a query selects, some at a time. */
export interface KeySteps {
  next(size: number): Promise<unknown[]>;
  close(): void;
}

const cursorName = 'declarest_export';

/** Steps through the keys of a query in the transaction of an entity manager; without one they are all read at once. */
export async function stepThroughKeys(
  mapper: Mapper,
  em: RequestEntityManager,
  meta: EntityMetadata,
  { sql, params }: QueryText,
): Promise<KeySteps> {
  const platform = em.getPlatform();
  const keyIn = keyReader(em, meta);
  const connection = em.isInTransaction() ? await connectionOf(em) : null;
  if (!connection) return stepThroughAll((await em.execute(sql, [...params])).map(keyIn));
  if (databaseKindOf(mapper) === 'postgresql') {
    await em.execute('set local cursor_tuple_fraction = 1');
    await em.execute(`declare ${cursorName} no scroll cursor for ${sql}`, [...params]);
    return {
      next: async (size) => (await em.execute(`fetch forward ${size} from ${cursorName}`)).map(keyIn),
      close: () => undefined,
    };
  }
  const steps = connection.steps(platform.formatQuery(sql, params));
  return {
    async next(size) {
      const keys: unknown[] = [];
      while (keys.length < size) {
        const { done, value } = steps.next();
        if (done) break;
        keys.push(keyIn(value));
      }
      return keys;
    },
    close: () => void steps.return?.(),
  };
}

function stepThroughAll(keys: readonly unknown[]): KeySteps {
  let at = 0;
  return {
    async next(size) {
      at += size;
      return keys.slice(at - size, at);
    },
    close: () => undefined,
  };
}

/** The connection of SQLite's dialect that a transaction takes place on. */
interface StepConnection {
  steps(sql: string): Iterator<object>;
}

interface TransactionContext {
  getExecutor(): { provideConnection<Result>(work: (connection: StepConnection) => Promise<Result>): Promise<Result> };
}

function connectionOf(em: RequestEntityManager): Promise<StepConnection> {
  const context = em.getTransactionContext() as unknown as TransactionContext;
  return context.getExecutor().provideConnection(async (connection) => connection);
}
