import type { Dialect } from '../../../dialect/dialect.ts';
import { type Condition, type ConditionPart, separated } from '../../list/condition.ts';

/** A column of an order, as it is compared with the same column of another row. */
interface SeekTerm {
  /** The column in SQL. */
  readonly sql: string;
  /** The direction in which rows are sought, not the one in which they are shown. */
  readonly direction: 'asc' | 'desc';
  /** Whether the column can be null. */
  readonly nullable: boolean;
  /** The value of the other row; null if that is null itself. */
  readonly value: ConditionPart | null;
}

type NullsLast = Dialect['sql']['nullsLast'];

/**
 * The condition for rows that come after another row in a total order whose last column is the key; `inclusive`: that row too.
 * Null is ordered as the database orders it.
 */
export function seekCondition(
  terms: readonly SeekTerm[],
  { sql: { nullsLast } }: Pick<Dialect, 'sql'>,
  inclusive: boolean,
): Condition {
  const row = rowComparison(terms, inclusive);
  if (row) return row;
  const last = terms.length - 1;
  const branches = terms.flatMap((term, i): Condition[] => {
    const after = afterOf(term, nullsLast, inclusive && i === last);
    return after ? [['(', ...separated([...terms.slice(0, i).map(equality), after], ' and '), ')']] : [];
  });
  const condition = separated(branches, ' or ');
  const bound = boundOf(terms[0] as SeekTerm, nullsLast);
  // without a bound on the first column, the database would walk its index from the start
  return bound && terms.length > 1 ? ['(', ...bound, ' and (', ...condition, '))'] : ['(', ...condition, ')'];
}

/** A row comparison, for which databases use an index. Null unless all columns have one direction and none can be null. */
function rowComparison(terms: readonly SeekTerm[], inclusive: boolean): Condition | null {
  const { direction } = terms[0] as SeekTerm;
  const values = terms.flatMap(({ value }) => (value === null ? [] : [[value]]));
  if (values.length < terms.length || terms.some((term) => term.direction !== direction || term.nullable)) return null;
  const columns = terms.map(({ sql }) => sql).join(', ');
  const operator = ` ${comparison(direction, inclusive)} `;
  if (terms.length === 1) return [`(${columns}${operator}`, ...separated(values, ', '), ')'];
  return [`((${columns})${operator}(`, ...separated(values, ', '), '))'];
}

function comparison(direction: 'asc' | 'desc', inclusive: boolean): string {
  return `${direction === 'asc' ? '>' : '<'}${inclusive ? '=' : ''}`;
}

function afterOf({ direction, nullable, sql, value }: SeekTerm, nullsLast: NullsLast, inclusive: boolean): Condition | null {
  const isNullLast = nullsLast(direction);
  if (value === null) {
    if (!isNullLast) return [inclusive ? '1 = 1' : `${sql} is not null`];
    return inclusive ? [`${sql} is null`] : null;
  }
  const compared = [`${sql} ${comparison(direction, inclusive)} `, value];
  return nullable && isNullLast ? ['(', ...compared, ` or ${sql} is null)`] : compared;
}

function equality({ sql, value }: SeekTerm): Condition {
  return value === null ? [`${sql} is null`] : [`${sql} = `, value];
}

function boundOf({ direction, nullable, sql, value }: SeekTerm, nullsLast: NullsLast): Condition | null {
  if (value === null || (nullable && nullsLast(direction))) return null;
  return [`${sql} ${comparison(direction, true)} `, value];
}
