import type { Dialect } from '../../dialect/dialect.ts';
import type { QueryText } from './bound-statement.ts';

/**
 * A query of the mapper's, in which `?` stands for each parameter, with its parameters as the database takes them. The mapper itself writes
 * every parameter into the text. What stands apart here must mean the same: it has the type that the literal would have. Null where that
 * cannot be done, as with a list, or with a mark that stands for anything else than a value. `before` is the number of parameters that the
 * statement has in front of these.
 */
export function parametrized(
  { params, sql }: QueryText,
  { sql: syntax, values: { bindable } }: Dialect,
  before = 0,
): QueryText | null {
  const [start, ...pieces] = sql.split('?') as [string, ...string[]];
  // an escaped mark has no parameter, and a doubled one stands for an identifier
  if (pieces.length !== params.length) return null;
  let text = start;
  for (const [i, piece] of pieces.entries()) {
    const cast = isLiteral(params[i]) ? syntax.literalCast(params[i]) : null;
    if (cast === null) return null;
    text += syntax.parameter(before + i + 1) + cast + piece;
  }
  return { sql: text, params: params.map((value) => bindable(value)) };
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
