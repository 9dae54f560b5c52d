import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { identityOf, type Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';

const maxReads = 5000;

/** Milliseconds after which SQLite is asked for commits again. */
const commitCheckInterval = 20;

/** Milliseconds for which a read counts as short. The cost of a few reads changes without a commit, such as with the time of day. */
const maxAge = 10_000;

/**
 * Remembers reads that were short. The same statement with the same parameters is short again as long as nothing is committed, so
 * it needs no time limit. A smaller offset reads fewer rows.
 */
export class ShortReads {
  readonly #dataVersion: StatementSync;
  /** The highest offset of each read. */
  #offsets = new LruCache<number>(maxReads);
  #version: unknown;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #since = 0;

  constructor(db: DatabaseSync) {
    this.#dataVersion = db.prepare('pragma data_version');
  }

  /** @param offset The index of the offset among the parameters, or -1. */
  has(statement: Statement, parameters: readonly unknown[], offset: number): boolean {
    this.#forgetOld();
    const known = this.#offsets.get(keyOf(statement, parameters, offset));
    return known !== undefined && Number(parameters[offset] ?? 0) <= known;
  }

  add(statement: Statement, parameters: readonly unknown[], offset: number): void {
    const key = keyOf(statement, parameters, offset);
    this.#offsets.set(key, Math.max(Number(parameters[offset] ?? 0), this.#offsets.get(key) ?? 0));
  }

  #forgetOld(): void {
    const now = performance.now();
    if (now - this.#checkedAt < commitCheckInterval) return;
    this.#checkedAt = now;
    const version = this.#dataVersion.get()?.data_version;
    if (version === this.#version && now - this.#since < maxAge) return;
    this.#version = version;
    this.#since = now;
    this.#offsets = new LruCache(maxReads);
  }
}

function keyOf({ name }: Statement, parameters: readonly unknown[], offset: number): string {
  let key = name;
  for (let i = 0; i < parameters.length; i++) if (i !== offset) key += ` ${identityOf(parameters[i])}`;
  return key;
}
