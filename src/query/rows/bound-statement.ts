import { createHash } from 'node:crypto';
import type { Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';

/** SQL and the values of its parameters. */
export interface QueryText {
  readonly sql: string;
  readonly params: readonly unknown[];
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
