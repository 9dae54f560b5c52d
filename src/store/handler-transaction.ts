import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityMetadata } from '@mikro-orm/core';
import { QueryType } from '@mikro-orm/sql';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { TransactionScope } from '../database/own-transaction.ts';
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

/** The context in which a handler of the application runs. */
export interface HandlerScope {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly state: RequestState;
  readonly admission: Admission;
  /** Whether the result of the handler requires a rollback. */
  readonly isFailure: (result: unknown) => boolean;
}

/**
 * Runs a handler whose writes are one transaction, on the row that access was checked for. The first write begins the
 * transaction: it locks the row, which must not have changed since the check. If the handler fails, nothing is written.
 */
export async function inHandlerTransaction(
  { admission, isFailure, mapper, meta, state }: HandlerScope,
  handle: () => unknown,
): Promise<unknown> {
  const { em } = state;
  const lockRow = async () => {
    const { found, key } = admission;
    const version = await readVersion(mapper, em, meta, key, { lock: true });
    if (!version) throw problem('entity_not_found', { model: modelName(meta) });
    // a handler that rereads the row under the lock decides itself
    if (found?.version && !state.rereads && !isSameVersion(found.version, version)) throw new RowChanged();
  };
  if (em.isInTransaction()) {
    await lockRow();
    return handle();
  }
  const scope = new TransactionScope();
  const gate = new WriteGate(em, scope, lockRow);
  try {
    const result = await scope.run(async () => handle());
    await gate.end(isFailure(result) ? 'rollback' : 'commit');
    return result;
  } catch (error) {
    await gate.end('rollback');
    throw error;
  }
}

/** The gate of the write that is running, so that calls within it do not wait for it. */
const runningWrites = new AsyncLocalStorage<object>();

/** Begins a transaction with the first write through an entity manager, and makes every write wait until the row is locked. */
class WriteGate {
  readonly #em: RequestEntityManager;
  readonly #scope: TransactionScope;
  readonly #lockRow: () => Promise<void>;
  #begun: Promise<WholeTransaction> | null = null;
  /** Resolves when the row is locked; rejects for every write if it is not the row that was checked. */
  #rowLocked: Promise<void> | null = null;
  /** The methods that take part in the transaction, once it has begun. */
  readonly #methods = new Map<string, Call>();
  /** Writes run one after another: an entity manager cannot run them in parallel. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(em: RequestEntityManager, scope: TransactionScope, lockRow: () => Promise<void>) {
    this.#em = em;
    this.#scope = scope;
    this.#lockRow = lockRow;
    this.#install();
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    const transaction = await this.#begun?.catch(() => null);
    const isLocked = await this.#rowLocked?.then(
      () => true,
      () => false,
    );
    // a handler may not wait for a write that waits for the lock
    await this.#last.catch(() => undefined);
    this.#remove();
    if (!transaction) return;
    if (how === 'commit' && isLocked) await transaction.commit();
    else await transaction.rollback();
    // a handler that ignores a rejected write must not succeed: throws the reason
    if (how === 'commit' && !isLocked) await this.#rowLocked;
  }

  #ready(): Promise<void> {
    this.#rowLocked ??= this.#begin();
    return this.#rowLocked;
  }

  async #begin(): Promise<void> {
    const begin = Object.getPrototypeOf(this.#em).begin as Call;
    this.#begun = begin.call(this.#em).then(() => {
      this.#scope.open();
      this.#remove();
      const transaction = WholeTransaction.of(this.#em);
      this.#install();
      return transaction;
    });
    await this.#begun;
    await this.#lockRow();
  }

  /** Wraps the methods that write, as the entity manager has them now. */
  #install(): void {
    const holder = this.#em as unknown as Record<string, Call>;
    for (const name of [...writingMethods, 'execute'] as const) {
      this.#methods.set(name, (holder[name] as Call).bind(this.#em));
      holder[name] = (...args) => this.#call(name, args);
    }
    const { createQueryBuilder } = this.#em;
    Object.assign(this.#em, {
      createQueryBuilder: (...args: Parameters<typeof createQueryBuilder>) =>
        this.#joining(createQueryBuilder.apply(this.#em, args) as unknown as Builder),
    });
  }

  /** A builder that takes part in the transaction if it writes. */
  #joining(builder: Builder): Builder {
    const { execute } = builder;
    builder.execute = async (...args) => {
      if (builder.type !== QueryType.SELECT && builder.type !== QueryType.COUNT) {
        await this.#ready();
        builder.context = this.#em.getTransactionContext();
      }
      return execute.apply(builder, args);
    };
    return builder;
  }

  async #call(name: string, args: readonly unknown[]): Promise<unknown> {
    const direct = () => (this.#methods.get(name) as Call)(...args);
    if (name === 'execute' && isRead(args[0])) return direct();
    await this.#ready();
    // other writes can run within a transactional(), and calls within a write must not wait for that write
    if (name === 'transactional' || runningWrites.getStore() === this) return direct();
    const done = this.#last.catch(() => undefined).then(() => runningWrites.run(this, direct));
    this.#last = done;
    return done;
  }

  #remove(): void {
    const holder = this.#em as unknown as Record<string, unknown>;
    for (const name of [...writingMethods, 'execute', 'createQueryBuilder']) delete holder[name];
  }
}

/** The parts of MikroORM's query builder that decide on which connection it runs. */
interface Builder {
  readonly type: QueryType;
  context: unknown;
  execute(...args: unknown[]): Promise<unknown>;
}

function isRead(sql: unknown): boolean {
  return typeof sql === 'string' && /^\s*(select|explain|pragma)\b/i.test(sql);
}
