import type { Dialect } from '../../dialect/dialect.ts';

/** A column of an order, as it is compared with the same column of another row. */
export interface SeekTerm {
  /** The column in SQL. */
  readonly sql: string;
  /** In which direction rows are sought, not the one in which they are shown. */
  readonly direction: 'asc' | 'desc';
  /** Whether a row can have null there. */
  readonly nullable: boolean;
  /** What stands in SQL for the value of the other row; null where that is null itself. */
  readonly value: string | null;
}

type NullsLast = Dialect['sql']['nullsLast'];

/**
 * The condition for rows that come after another row in a total order whose last column is the key; `inclusive`: that row too.
 * Null stands where the database puts it.
 */
export function seekCondition(terms: readonly SeekTerm[], { sql: { nullsLast } }: Dialect, inclusive = false): string {
  const row = rowComparison(terms, inclusive);
  if (row) return row;
  const last = terms.length - 1;
  const branches = terms.map((term, i) => {
    const equal = terms.slice(0, i).map(equality);
    const after = afterOf(term, nullsLast, inclusive && i === last);
    return after && [...equal, after].join(' and ');
  });
  const condition = branches.flatMap((branch) => (branch === null ? [] : [`(${branch})`])).join(' or ');
  const bound = boundOf(terms[0] as SeekTerm, nullsLast);
  // the database does not see by itself that the first column bounds the whole, and walks its index from the start
  return bound && terms.length > 1 ? `(${bound} and (${condition}))` : `(${condition})`;
}

/** Databases walk an index by this, where all columns go the same way and none can be null. */
function rowComparison(terms: readonly SeekTerm[], inclusive: boolean): string | null {
  const { direction } = terms[0] as SeekTerm;
  if (terms.some((term) => term.direction !== direction || term.nullable || term.value === null)) return null;
  const operator = `${direction === 'asc' ? '>' : '<'}${inclusive ? '=' : ''}`;
  if (terms.length === 1) return `(${terms[0]?.sql} ${operator} ${terms[0]?.value})`;
  return `((${terms.map(({ sql }) => sql).join(', ')}) ${operator} (${terms.map(({ value }) => value).join(', ')}))`;
}

function afterOf({ direction, nullable, sql, value }: SeekTerm, nullsLast: NullsLast, inclusive: boolean): string | null {
  const isNullLast = nullsLast(direction);
  if (value === null) {
    if (!isNullLast) return inclusive ? '1 = 1' : `${sql} is not null`;
    return inclusive ? `${sql} is null` : null;
  }
  const compared = `${sql} ${direction === 'asc' ? '>' : '<'}${inclusive ? '=' : ''} ${value}`;
  return nullable && isNullLast ? `(${compared} or ${sql} is null)` : compared;
}

function equality({ sql, value }: SeekTerm): string {
  return value === null ? `${sql} is null` : `${sql} = ${value}`;
}

function boundOf({ direction, nullable, sql, value }: SeekTerm, nullsLast: NullsLast): string | null {
  if (value === null || (nullable && nullsLast(direction))) return null;
  return `${sql} ${direction === 'asc' ? '>=' : '<='} ${value}`;
}
