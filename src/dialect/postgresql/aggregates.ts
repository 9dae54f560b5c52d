import type { Period } from '../../declaration/vocabulary.ts';
import type { AggregateSyntax } from '../dialect.ts';

const formats: Readonly<Record<Period, string>> = { year: 'YYYY', month: 'YYYY-MM', day: 'YYYY-MM-DD' };

export const postgresAggregates: AggregateSyntax = Object.freeze<AggregateSyntax>({
  sum(column, { kind }) {
    // the sum of a `real` would have single precision
    const sql = kind === 'real' ? `sum(cast(${column} as double precision))` : `sum(${column})`;
    return { sql, order: [sql], read: (value) => (kind === 'real' || kind === 'float' ? Number(value) : value) };
  },
  milliseconds: (column, type) => (/^timestamp(?:tz)?\([0-3]\)/.test(type) ? column : `date_trunc('milliseconds', ${column})`),
  period(column, _kind, type, period) {
    const inUtc = /^timestamp(tz|.* with time zone)/.test(type) ? `${column} at time zone 'UTC'` : column;
    return `to_char(${inUtc}, '${formats[period]}')`;
  },
});
