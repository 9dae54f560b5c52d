import type { DatabaseKind } from '../database/mapper.ts';

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

/**
 * The condition for rows that come after another row in a total order whose last column is the key; `inclusive`: that row too.
 * Null stands where the database puts it: PostgreSQL takes it for the greatest of values, SQLite for the least.
 */
export function seekCondition(terms: readonly SeekTerm[], database: DatabaseKind, inclusive = false): string {
  const row = rowComparison(terms, inclusive);
  if (row) return row;
  const last = terms.length - 1;
  const branches = terms.map((term, i) => {
    const equal = terms.slice(0, i).map(equality);
    const after = afterOf(term, database, inclusive && i === last);
    return after && [...equal, after].join(' and ');
  });
  const condition = branches.flatMap((branch) => (branch === null ? [] : [`(${branch})`])).join(' or ');
  const bound = boundOf(terms[0] as SeekTerm, database);
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

function afterOf({ direction, nullable, sql, value }: SeekTerm, database: DatabaseKind, inclusive: boolean): string | null {
  const nullsLast = putsNullsLast(direction, database);
  if (value === null) {
    if (!nullsLast) return inclusive ? '1 = 1' : `${sql} is not null`;
    return inclusive ? `${sql} is null` : null;
  }
  const compared = `${sql} ${direction === 'asc' ? '>' : '<'}${inclusive ? '=' : ''} ${value}`;
  return nullable && nullsLast ? `(${compared} or ${sql} is null)` : compared;
}

function equality({ sql, value }: SeekTerm): string {
  return value === null ? `${sql} is null` : `${sql} = ${value}`;
}

function boundOf({ direction, nullable, sql, value }: SeekTerm, database: DatabaseKind): string | null {
  if (value === null || (nullable && putsNullsLast(direction, database))) return null;
  return `${sql} ${direction === 'asc' ? '>=' : '<='} ${value}`;
}

function putsNullsLast(direction: SeekTerm['direction'], database: DatabaseKind): boolean {
  return (database === 'postgresql') === (direction === 'asc');
}
