import type { DatabaseKind } from '../database/mapper.ts';
import { bindable } from './bound-statement.ts';

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
export function parametrized(sql: string, params: readonly unknown[], kind: DatabaseKind, before = 0): KeyQuery | null {
  if (/\\\?|\?\?/.test(sql)) return null;
  const values: unknown[] = [];
  let plain = true;
  const text = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\?/g, (found) => {
    if (found !== '?') {
      if (found.includes('?')) plain = false;
      return found;
    }
    const value = params[values.length];
    const type = kind === 'postgresql' ? literalType(value) : isLiteral(value) ? '' : null;
    if (type === null) plain = false;
    values.push(kind === 'postgresql' ? value : bindable(value, kind));
    const position = before + values.length;
    return kind === 'postgresql' ? `$${position}${type}` : `?${position}`;
  });
  return plain && values.length === params.length ? { sql: text, params: values } : null;
}

/** The type of a literal in PostgreSQL: that of a number is known, a quoted one takes its type from where it stands. */
function literalType(value: unknown): string | null {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return null;
    // a sign is an operator, which a number in parentheses would not be
    if (!Number.isInteger(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return '::numeric';
    return Math.abs(value) <= 2147483647 ? '::int4' : '::int8';
  }
  if (typeof value === 'boolean') return '::bool';
  return isLiteral(value) ? '' : null;
}

function isLiteral(value: unknown): boolean {
  if (value === null || value instanceof Date || Buffer.isBuffer(value)) return true;
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
