import { TableNotFoundException } from '@mikro-orm/core';
import { dialectOf } from '../dialect/dialect.ts';
import type { Mapper } from './mapper.ts';

/** A table of the framework's own, which is made with the first request that needs it. */
export class OwnTable {
  readonly #mapper: Mapper;
  readonly #name: string;
  /** What makes it; null: it is not ours to make. */
  readonly #statements: readonly string[] | null;
  #made: Promise<boolean> | null = null;

  constructor(mapper: Mapper, name: string, statements: readonly string[] | null) {
    this.#mapper = mapper;
    this.#name = name;
    this.#statements = statements;
  }

  /** Whether there is the table. What was not so is looked at anew. */
  async isThere(): Promise<boolean> {
    this.#made ??= this.#make();
    let isMade = false;
    try {
      isMade = await this.#made;
    } finally {
      if (!isMade) this.#made = null;
    }
    return isMade;
  }

  /** Processes that need it at the same time wait for one another. */
  async #make(): Promise<boolean> {
    try {
      await this.#mapper.em.fork().execute(`select 1 from ${this.#name} limit 1`);
      return true;
    } catch (error) {
      if (!(error instanceof TableNotFoundException)) throw error;
    }
    const statements = this.#statements;
    if (statements === null) return false;
    // a request that needs it has committed nothing of its own yet, and so nobody is told of this commit
    await this.#mapper.em.fork({ freshEventManager: true }).transactional(async (em) => {
      await dialectOf(this.#mapper).schema.lockTable(em, this.#name);
      for (const sql of statements) await em.execute(sql);
    });
    return true;
  }
}
