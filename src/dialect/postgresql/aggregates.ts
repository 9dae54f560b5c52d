import type { Period } from '../../declaration/vocabulary.ts';
import type { AggregateSyntax } from '../dialect.ts';

const formats: Readonly<Record<Period, string>> = { year: 'YYYY', month: 'YYYY-MM', day: 'YYYY-MM-DD' };

export const postgresAggregates: AggregateSyntax = Object.freeze<AggregateSyntax>({
  sum(column, { kind }) {
    const sql = kind === 'float' ? doubleSum(column) : kind === 'real' ? realSum(column) : `sum(${column})`;
    return { sql, order: [sql], read: (value) => (kind === 'real' || kind === 'float' ? Number(value) : value) };
  },
  // the average of doubles fails if their squares exceed a double
  average: (column, { kind }) => (kind === 'float' ? `${doubleSum(column)} / count(${column})` : `avg(${column})`),
  milliseconds: (column, type) => (/^timestamp(?:tz)?\([0-3]\)/.test(type) ? column : `date_trunc('milliseconds', ${column})`),
  period(column, _kind, type, period) {
    const inUtc = /^timestamp(tz|.* with time zone)/.test(type) ? `${column} at time zone 'UTC'` : column;
    return `to_char(${inUtc}, '${formats[period]}')`;
  },
});

/** A sum of a `real` would have single precision. */
function realSum(column: string): string {
  return `sum(cast(${column} as double precision))`;
}

/** PostgreSQL throws if a sum exceeds a double. JSON has no such number either, so a sum of very large numbers is null. */
function doubleSum(column: string): string {
  const isHuge = `abs(${column}) >= 1e290`;
  return `case when bool_or(${isHuge}) then null else sum(${column}) filter (where not ${isHuge}) end`;
}
