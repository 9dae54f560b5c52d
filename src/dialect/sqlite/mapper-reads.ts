import type { DatabaseSync } from 'node:sqlite';
import { StatementCosts } from '../../database/statement-costs.ts';
import { isSmall, longest } from './long-reads.ts';
import { NamedReads, type Row } from './named-reads.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

/** What the mapper reads outside of transactions: on the connection for reading, or in a thread where it takes long. */
export class MapperReads {
  readonly #db: DatabaseSync;
  readonly #reads: NamedReads;
  readonly #threads: ReaderThreads;
  readonly #costs = new StatementCosts();
  /** Until something took long there is nothing to look up. */
  #knowsLong = false;

  constructor(db: DatabaseSync, threads: ReaderThreads) {
    this.#db = db;
    this.#reads = new NamedReads(db);
    this.#threads = threads;
  }

  rows(sql: string, values: readonly unknown[]): Row[] | Promise<Row[]> {
    const counts = /\bcount\(/i.test(sql);
    if (counts || this.#knowsLong) {
      const cost = this.#costs.of(kindOf(sql), values);
      if (cost === undefined ? counts && !isSmall(this.#db) : cost > longest) return this.#elsewhere(sql, values);
    }
    return this.#here(sql, values, counts);
  }

  #here(sql: string, values: readonly unknown[], counts: boolean): Row[] {
    const start = performance.now();
    const rows = this.#reads.rows(sql, values);
    const took = performance.now() - start;
    if (took > longest) this.#knowsLong = true;
    if (counts || this.#knowsLong) this.#costs.note(kindOf(sql), values, took);
    return rows;
  }

  async #elsewhere(sql: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      const { rows, took } = await this.#threads.rows<Row>({ name: sql, text: sql, wide: false }, values, 'named');
      if (took > longest) this.#knowsLong = true;
      this.#costs.note(kindOf(sql), values, took);
      return rows;
    } catch (error) {
      if (!(error instanceof NoThreads)) throw error;
      return this.#reads.rows(sql, values);
    }
  }
}

/** The mapper writes values into the text; statements that differ in nothing else cost about the same. */
function kindOf(sql: string) {
  const text = sql.replace(/'(?:[^']|'')*'|\b\d[\d.]*\b/g, '?').replace(/\?(?:, \?)+/g, '?');
  return { name: text, text, wide: false };
}
