import type { Dialect } from '../../dialect/dialect.ts';
import { keyOfText, type QueryText, UnwrittenText } from './bound-statement.ts';

/** A query in pieces, with a parameter between each two. */
export interface BindableText {
  /** Stands for the pieces and the casts in keys of caches. */
  readonly key: string;
  readonly pieces: readonly string[];
  /** The cast after each parameter, so that it has the type that a literal would have. */
  readonly casts: readonly string[];
  readonly params: readonly unknown[];
}

/**
 * A MikroORM query, which has `?` for each parameter, with the parameters as the database takes them. MikroORM itself would write
 * every parameter into the text as a literal. A separate parameter must mean the same, so it gets the type of the literal. Null
 * if that is impossible, as with a list, or with a `?` that is not a value.
 */
export function bindableText(query: QueryText & Pieces, { sql: syntax, values: { bindable } }: Dialect): BindableText | null {
  const { params } = query;
  const pieces = query.pieces ?? query.sql.split('?');
  // an escaped `?` has no parameter, and `??` is an identifier
  if (pieces.length !== params.length + 1) return null;
  const casts: string[] = [];
  for (const value of params) {
    const cast = isLiteral(value) ? syntax.literalCast(value) : null;
    if (cast === null) return null;
    casts.push(cast);
  }
  return { key: keyWith(keyOfText(query), casts), pieces, casts, params: params.map((value) => bindable(value)) };
}

function keyWith(text: string, casts: readonly string[]): string {
  return casts.length === 0 ? text : `${text} ${casts.join()}`;
}

/** The SQL of a query between its parameters, if it is known. */
interface Pieces {
  readonly pieces?: readonly string[] | undefined;
}

/** The text with its parameters numbered. `before` is the number of parameters that the statement has in front of these. */
export function numberedText({ casts, pieces }: BindableText, { sql: { parameter } }: Dialect, before = 0): string {
  return pieces.reduce((text, piece, i) => `${text}${parameter(before + i)}${casts[i - 1]}${piece}`);
}

/** {@link bindableText} and {@link numberedText} in one call. */
export function parametrized(query: QueryText & Pieces, dialect: Dialect, before = 0): QueryText | null {
  const bindable = bindableText(query, dialect);
  return bindable && new UnwrittenText(bindable.key, bindable.params, () => numberedText(bindable, dialect, before));
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
