import type { Period } from '../../declaration/vocabulary.ts';
import type { AggregateSyntax, Sum } from '../dialect.ts';
import type { ValueKind } from '../value-kind.ts';

const formats: Readonly<Record<Period, string>> = { year: '%Y', month: '%Y-%m', day: '%Y-%m-%d' };

/** The number of digits that an integer of 64 bits always holds. */
const exactDigits = 18;

export const sqliteAggregates: AggregateSyntax = Object.freeze<AggregateSyntax>({
  sum(column, kind) {
    if (kind.kind === 'bigint') return exactSum(column, 0);
    // a decimal is stored as a double, and sums of doubles are not exact
    if (kind.kind === 'decimal' && kind.precision <= exactDigits)
      return exactSum(`cast(round(${column} * 1e${kind.scale}) as integer)`, kind.scale);
    return { sql: `sum(${column})`, order: [`sum(${column})`], read: sumOf(kind) };
  },
  average: (column) => `avg(${column})`,
  milliseconds: (column) => column,
  period(column, kind, _type, period) {
    const format = `'${formats[period]}'`;
    if (kind === 'date') return `strftime(${format}, ${column})`;
    // others may have stored a time as text
    return `case typeof(${column}) when 'text' then strftime(${format}, ${column}) else strftime(${format}, ${column} / 1000.0, 'unixepoch') end`;
  },
});

function sumOf({ kind }: ValueKind): Sum['read'] {
  return kind === 'integer' ? (value) => value : Number;
}

/** The sum of integers in two halves: SQLite throws if a sum exceeds 64 bits. */
function exactSum(column: string, scale: number): Sum {
  const [high, low] = [`sum(${column} >> 32)`, `sum(${column} & 4294967295)`];
  return {
    sql: `${high} || ' ' || ${low}`,
    order: [`${high} + (${low} >> 32)`, `${low} & 4294967295`],
    read(value) {
      const [upper = '', lower = ''] = String(value).split(' ');
      return withScale((BigInt(upper) << 32n) + BigInt(lower), scale);
    },
  };
}

function withScale(sum: bigint, scale: number): string {
  if (scale === 0) return String(sum);
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
