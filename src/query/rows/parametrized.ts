import type { Dialect } from '../../dialect/dialect.ts';

/** A query that selects keys of the model, as the mapper wrote it, with `?` for each parameter. */
export interface KeyQuery {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/**
 * The mapper writes every parameter into the text before it sends it. What stands apart here must mean the same: it has the
 * type that the literal would have. Null where that cannot be done, as with a list, or with a `?` inside quotes. `before` is the number
 * of parameters that the statement has in front of these.
 */
export function parametrized(
  sql: string,
  params: readonly unknown[],
  { sql: syntax, values: { bindable } }: Dialect,
  before = 0,
): KeyQuery | null {
  if (/\\\?|\?\?/.test(sql)) return null;
  const values: unknown[] = [];
  let plain = true;
  const text = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\?/g, (found) => {
    if (found !== '?') {
      if (found.includes('?')) plain = false;
      return found;
    }
    const value = params[values.length];
    const cast = isLiteral(value) ? syntax.literalCast(value) : null;
    if (cast === null) plain = false;
    values.push(bindable(value));
    return `${syntax.parameter(before + values.length)}${cast}`;
  });
  return plain && values.length === params.length ? { sql: text, params: values } : null;
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
