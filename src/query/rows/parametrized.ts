import type { Dialect } from '../../dialect/dialect.ts';
import type { QueryText } from './bound-statement.ts';

/** A query in pieces, between which its parameters stand. */
export interface BindableText {
  readonly pieces: readonly string[];
  /** What follows each parameter, so that it has the type that a literal would have. */
  readonly casts: readonly string[];
  readonly params: readonly unknown[];
}

/**
 * A query of the mapper's, in which `?` stands for each parameter, with its parameters as the database takes them. The mapper itself writes
 * every parameter into the text. What stands apart here must mean the same: it has the type that the literal would have. Null where that
 * cannot be done, as with a list, or with a mark that stands for anything else than a value.
 */
export function bindableText({ params, sql }: QueryText, { sql: syntax, values: { bindable } }: Dialect): BindableText | null {
  const pieces = sql.split('?');
  // an escaped mark has no parameter, and a doubled one stands for an identifier
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

/** Both at once. */
export function parametrized(query: QueryText, dialect: Dialect, before = 0): QueryText | null {
  const bindable = bindableText(query, dialect);
  return bindable && { sql: numberedText(bindable, dialect, before), params: bindable.params };
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
