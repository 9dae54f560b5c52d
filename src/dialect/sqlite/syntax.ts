import { tooLarge } from '../../database/too-large.ts';
import type { SqlSyntax } from '../dialect.ts';
import { sqliteAggregates } from './aggregates.ts';
import { lowered, lowerFunction } from './lower-case.ts';
import { sqliteRows } from './row-source.ts';

export const sqliteSyntax: SqlSyntax = Object.freeze<SqlSyntax>({
  parameter: (position) => `?${position}`,
  typedParameter: (position) => `?${position}`,
  literalCast: () => '',
  among: (column, list) => [...column, ' in (select value from json_each(', list, '))'],
  amongKeys(columns, _types, list) {
    const values = columns.map((_, i) => `json_extract(value, '$[${i}]')`);
    return `(${columns.join(', ')}) in (select ${values.join(', ')} from json_each(${list}))`;
  },
  isNotTrue: (condition) => ['not coalesce((', ...condition, '), 0)'],
  matches(column, { bind, text }) {
    // SQLite itself ignores the case of ASCII letters, and is faster than a function in JavaScript
    const isAscii = ['octet_length(', ...column, ') = length(', ...column, ')'];
    const lower = ['case when ', ...isAscii, ' then ', ...column, ` else ${lowerFunction}(`, ...column, ') end'];
    return [...lower, ' like ', bind(lowered(text)), " escape '\\'"];
  },
  // null is the least of values
  nullsLast: (direction) => direction === 'desc',
  // SQLite has one writer at a time
  rowLock: () => '',
  keyLock: '',
  removalLock: '',
  rowSource: sqliteRows,
  turn: null,
  rowVersion: null,
  textOf: (columns) => columns.map((column) => `quote(${column})`).join(" || ',' || "),
  areSame: (columns, parameters) => `(${columns.join(', ')}) is (${parameters.join(', ')})`,
  differ: (column, parameter) => `${column} collate binary is not ${parameter}`,
  bytesOf: (column) => `coalesce(max(octet_length(${column}), 8), 8)`,
  failsBeyond: (size, limit) => `json_extract('{}', case when ${size} > ${limit} then '${tooLarge}' end)`,
  skipLocked: '',
  scratchTable: 'table',
  changesWithin: false,
  keepsCollation: false,
  listColumn: (column) => column,
  timeColumn: (column) => column,
  pagesAtOffsets: null,
  estimate: null,
  aggregates: sqliteAggregates,
  search: null,
});
