import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import { keyReader } from './keys.ts';

/** Keys that a query selects, some at a time. */
export interface KeySteps {
  next(size: number): Promise<unknown[]>;
  close(): void;
}

/** Steps through the keys of a query in the transaction of an entity manager; without one they are all read at once. */
export async function stepThroughKeys(
  mapper: Mapper,
  em: RequestEntityManager,
  meta: EntityMetadata,
  { sql, params }: QueryText,
): Promise<KeySteps> {
  const keyIn = keyReader(em, meta);
  if (!em.isInTransaction()) return stepThroughAll(await em.execute(sql, [...params]).then((rows) => rows.map(keyIn)));
  const steps = await dialectOf(mapper).connections.rowSteps(em, sql, params);
  return { next: async (size) => (await steps.next(size)).map(keyIn), close: () => steps.close() };
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
