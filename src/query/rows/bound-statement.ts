import { createHash } from 'node:crypto';
import type { Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';

/** SQL and the values of its parameters. */
export interface QueryText {
  readonly sql: string;
  readonly params: readonly unknown[];
  /** Stands for the SQL in keys of caches, as it is much shorter. The SQL itself, if it is absent. */
  readonly key?: string | undefined;
}

/** What stands for the SQL of a text in keys of caches. */
export function keyOfText(text: QueryText): string {
  return text.key ?? text.sql;
}

/** A text whose SQL is written when it is read. If a statement with its key is cached, that never happens. */
export class UnwrittenText implements QueryText {
  readonly key: string;
  readonly params: readonly unknown[];
  readonly #write: () => string;
  #sql: string | null = null;

  constructor(key: string, params: readonly unknown[], write: () => string) {
    this.key = key;
    this.params = params;
    this.#write = write;
  }

  get sql(): string {
    this.#sql ??= this.#write();
    return this.#sql;
  }
}

export const noText: QueryText = Object.freeze({ sql: '', params: Object.freeze([]) });

/** A prepared statement and the values of its parameters. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

const names = new LruCache<string>(2000);

/** A statement under the name by which its text is prepared. */
export function statementOf(text: string, wide = false): Statement {
  const name = names.get(text, () => `d${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`);
  return { name, text, wide };
}
