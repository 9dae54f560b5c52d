import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { withinTransaction } from '../database/own-transaction.ts';
import { WholeTransaction } from '../database/whole-transaction.ts';
import { problem } from '../errors.ts';
import { modelName } from '../model/hierarchy.ts';
import { isSameVersion, RowChanged, readVersion } from '../query/rows/row-version.ts';
import type { Admission } from './port.ts';
import type { RequestState } from './request-state.ts';

/** The methods of an entity manager that write. Each begins the transaction of the request when it is first called. */
export const writingMethods = [
  'begin',
  'flush',
  'transactional',
  'insert',
  'insertMany',
  'nativeDelete',
  'nativeUpdate',
  'upsert',
  'upsertMany',
] as const satisfies readonly (keyof RequestEntityManager)[];

type Call = (...args: unknown[]) => Promise<unknown>;

/** What a handler of the application runs in. */
export interface HandlerScope {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly state: RequestState;
  readonly admission: Admission;
  /** Whether what the handler returned leaves nothing written. */
  readonly isFailure: (result: unknown) => boolean;
}

/**
 * Runs a handler whose writes are one transaction, on the row that access was checked for. The transaction begins with the first write:
 * the row is locked and must be what it was then. A handler that fails has written nothing.
 */
export async function inHandlerTransaction(
  { admission, isFailure, mapper, meta, state }: HandlerScope,
  handle: () => unknown,
): Promise<unknown> {
  const { em } = state;
  const hold = async () => {
    const { found, key } = admission;
    const version = await readVersion(mapper, em, meta, key, true);
    if (!version) throw problem('entity_not_found', { model: modelName(meta) });
    // a handler that reads the row anew under the lock decides itself
    if (found?.version && !state.rereads && !isSameVersion(found.version, version)) throw new RowChanged();
  };
  if (em.isInTransaction()) {
    await hold();
    return handle();
  }
  let transaction: WholeTransaction | null = null;
  const holder = em as unknown as Record<string, Call>;
  const release = () => {
    if (!transaction) for (const name of [...writingMethods, 'execute']) delete holder[name];
  };
  const begin = async () => {
    if (transaction) return;
    release();
    transaction = await WholeTransaction.begin(em);
    await hold();
  };
  for (const name of writingMethods) {
    holder[name] = async (...args) => {
      await begin();
      return (holder[name] as Call)(...args);
    };
  }
  const { execute } = em;
  holder.execute = async (...args) => {
    if (!isRead(args[0])) await begin();
    return (execute as unknown as Call).apply(em, args);
  };
  try {
    const result = await withinTransaction(async () => handle());
    const begun = transaction as WholeTransaction | null;
    if (begun && isFailure(result)) await begun.rollback();
    else await begun?.commit();
    return result;
  } catch (error) {
    await (transaction as WholeTransaction | null)?.rollback();
    throw error;
  } finally {
    release();
  }
}

function isRead(sql: unknown): boolean {
  return typeof sql === 'string' && /^\s*(select|explain|pragma)\b/i.test(sql);
}
