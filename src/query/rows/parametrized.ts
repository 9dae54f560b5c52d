import type { Dialect } from '../../dialect/dialect.ts';
import type { QueryText } from './bound-statement.ts';

/** A query in pieces, with a parameter between each two. */
export interface BindableText {
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
export function bindableText({ params, sql }: QueryText, { sql: syntax, values: { bindable } }: Dialect): BindableText | null {
  const pieces = sql.split('?');
  // an escaped `?` has no parameter, and `??` is an identifier
  if (pieces.length !== params.length + 1) return null;
  const casts: string[] = [];
  for (const value of params) {
    const cast = isLiteral(value) ? syntax.literalCast(value) : null;
    if (cast === null) return null;
    casts.push(cast);
  }
  return { pieces, casts, params: params.map((value) => bindable(value)) };
}

/** The text with its parameters numbered. `before` is the number of parameters that the statement has in front of these. */
export function numberedText({ casts, pieces }: BindableText, { sql: { parameter } }: Dialect, before = 0): string {
  return pieces.reduce((text, piece, i) => `${text}${parameter(before + i)}${casts[i - 1]}${piece}`);
}

/** {@link bindableText} and {@link numberedText} in one call. */
export function parametrized(query: QueryText, dialect: Dialect, before = 0): QueryText | null {
  const bindable = bindableText(query, dialect);
  return bindable && { sql: numberedText(bindable, dialect, before), params: bindable.params };
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
