import { TransactionEventBroadcaster } from '@mikro-orm/core';
import type { RequestEntityManager } from './mapper.ts';

type Context = ReturnType<RequestEntityManager['getTransactionContext']>;

/**
 * A transaction around everything that an entity manager does. Transactions that its users begin are nested in it: each can be
 * rolled back alone, and other connections see nothing of them before the whole transaction ends.
 */
export class WholeTransaction {
  readonly #em: RequestEntityManager;
  readonly #context: NonNullable<Context>;
  #isOver = false;
  /** The commit or rollback in progress. */
  #ending: Promise<void> | null = null;

  private constructor(em: RequestEntityManager) {
    this.#em = em;
    this.#context = em.getTransactionContext() as NonNullable<Context>;
    joinTransactions(em);
  }

  static async begin(em: RequestEntityManager): Promise<WholeTransaction> {
    await em.begin();
    return new WholeTransaction(em);
  }

  /** The transaction that the entity manager is in already. */
  static of(em: RequestEntityManager): WholeTransaction {
    return new WholeTransaction(em);
  }

  /** Commits flushed changes; changes that were not flushed are not written. */
  async commit(): Promise<void> {
    if (this.#isOver || this.#ending) throw new Error('the transaction has already ended');
    await this.#end('commit');
  }

  /** Rolls everything back; does nothing if the transaction is over. */
  async rollback(): Promise<void> {
    await this.#ending?.catch(() => undefined);
    // the caller throws the first error
    if (!this.#isOver) await this.#end('rollback').catch(() => undefined);
  }

  async #end(how: 'commit' | 'rollback'): Promise<void> {
    this.#ending = this.#em.getConnection('write')[how](this.#context, new TransactionEventBroadcaster(this.#em));
    try {
      await this.#ending;
      this.#isOver = true;
      this.#em.resetTransactionContext();
      separateTransactions(this.#em);
    } finally {
      this.#ending = null;
    }
  }
}

/** Nests the transactions that are begun with an entity manager in its current one. */
function joinTransactions(em: RequestEntityManager): void {
  const { begin, commit, flush, rollback } = em;
  const outer: Context[] = [];
  const enter = async (options: object = {}) => {
    const ctx = em.getTransactionContext();
    await begin.call(em, { ...options, ctx } as never);
    outer.push(ctx);
  };
  const leave = () => em.setTransactionContext(outer.pop() as NonNullable<Context>);
  Object.assign(em, {
    begin: enter,
    async commit() {
      if (outer.length === 0) throw new Error('cannot commit: no transaction was begun');
      await commit.call(em);
      leave();
    },
    async rollback() {
      if (outer.length === 0) throw new Error('cannot roll back: no transaction was begun');
      try {
        await rollback.call(em);
      } finally {
        leave();
      }
    },
    // a failed flush is rolled back, and the caller can go on, as if the flush were a transaction of its own
    async flush() {
      if (outer.length > 0) return flush.call(em);
      await enter();
      try {
        await commit.call(em);
      } catch (error) {
        await rollback.call(em).catch(() => undefined);
        throw error;
      } finally {
        leave();
      }
    },
  });
}

function separateTransactions(em: RequestEntityManager): void {
  for (const name of ['begin', 'commit', 'rollback', 'flush'] as const) delete (em as { [key in typeof name]?: unknown })[name];
}
