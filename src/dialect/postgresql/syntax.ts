import { tooLarge } from '../../database/too-large.ts';
import type { RowEstimate, SqlSyntax } from '../dialect.ts';
import { postgresAggregates } from './aggregates.ts';
import { pagesAtOffsets } from './pages-at-offsets.ts';
import { postgresRows } from './row-source.ts';
import { postgresSearch } from './search.ts';

const estimate: RowEstimate = {
  statement: (rows) => `explain (format json) ${rows}`,
  rowsIn(result) {
    const [{ Plan: plan }] = (typeof result === 'string' ? JSON.parse(result) : result) as [{ Plan: { 'Plan Rows': number } }];
    return Math.round(plan['Plan Rows']);
  },
};

export const postgresSyntax: SqlSyntax = Object.freeze<SqlSyntax>({
  parameter: (position) => `$${position}`,
  typedParameter: (position, type) => `$${position}::${type}`,
  literalCast,
  among: (column, list) => [...column, ' = any(', list, ')'],
  amongKeys(columns, types, list) {
    const values = types.map((type, i) => `(_key.value ->> ${i})::${type}`);
    return `(${columns.join(', ')}) in (select ${values.join(', ')} from jsonb_array_elements(${list}::jsonb) as _key(value))`;
  },
  isNotTrue: (condition) => ['(', ...condition, ') is not true'],
  matches(column, { bind, collation, isPadded, text }) {
    // the blanks that pad a column are not part of the text
    const unpadded = isPadded ? ['cast(', ...column, ' as text)'] : column;
    return [...unpadded, ' ilike ', bind(text), collation];
  },
  // null is the greatest of values
  nullsLast: (direction) => direction === 'asc',
  rowLock: (alias) => ` for no key update${alias === undefined ? '' : ` of ${alias}`}`,
  keyLock: ' for key share',
  removalLock: ' for update',
  rowSource: postgresRows,
  turn: (isShared) => `select pg_advisory_xact_lock${isShared ? '_shared' : ''}(hashtext($1), 0)`,
  rowVersion: 'xmin',
  textOf: (columns) => columns.map((column) => `${column}::text`).join(" || ',' || "),
  areSame: (columns, parameters) => columns.map((column, i) => `${column}::text = ${parameters[i]}::text`).join(' and '),
  differ(column, parameter, type) {
    if (/^(decimal|numeric|real|double|float)/i.test(type)) return `${column} is distinct from ${parameter}`;
    // quoted literals, because a text would lose the blanks that pad it
    return `format('%L', ${column}) collate "C" <> format('%L', ${parameter})`;
  },
  // a field of a row has a length of four bytes
  bytesOf: (column) => `(coalesce(octet_length(${column}::text), 0) + 4)`,
  failsBeyond: (size, limit) => `cast(case when ${size} > ${limit} then '${tooLarge}' end as int)`,
  skipLocked: ' for update skip locked',
  // not written to the write-ahead log
  scratchTable: 'unlogged table',
  changesWithin: true,
  keepsCollation: true,
  listColumn: (column) => `array_to_json(${column})`,
  timeColumn: (column, type) => (/^timestamp(tz|.* with time zone)/.test(type) ? `(${column} at time zone 'UTC')` : column),
  pagesAtOffsets,
  estimate,
  aggregates: postgresAggregates,
  search: postgresSearch,
});

/**
 * A number has a type, so its parameter needs a cast. A quoted literal takes its type from its context, and so does a parameter.
 */
function literalCast(value: unknown): string | null {
  if (typeof value === 'boolean') return '::bool';
  if (typeof value !== 'number') return '';
  if (!Number.isFinite(value)) return null;
  // a sign is an operator, which a number in parentheses would not be
  if (!Number.isInteger(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return '::numeric';
  return Math.abs(value) <= 2147483647 ? '::int4' : '::int8';
}
