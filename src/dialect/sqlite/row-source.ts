import { mapInTurns } from '../../event-loop.ts';
import type { RowSource } from '../dialect.ts';

/**
 * All rows are one parameter, so that the same columns make the same statement for any number of rows. SQLite takes seconds to
 * prepare a statement with a parameter for each value of a thousand rows.
 */
export const sqliteRows: RowSource = {
  mostRows: () => Number.POSITIVE_INFINITY,
  async of(types, rows) {
    const columns = types.map((_, column) => {
      const hasBytes = rows.some((row) => ArrayBuffer.isView(row[column]));
      return `${hasBytes ? bytesOrValue(column) : `json_extract(value, '$[${column}]')`} as c${column}`;
    });
    const lists = await mapInTurns(rows, (row) => `[${row.map(jsonOf).join(',')}]`);
    return { sql: `(select ${columns.join(', ')} from json_each(?))`, params: [`[${lists.join(',')}]`], order: '' };
  },
};

function bytesOrValue(column: number): string {
  const path = `'$[${column}]'`;
  return `iif(json_type(value, ${path}) = 'array', unhex(json_extract(value, '$[${column}][0]')), json_extract(value, ${path}))`;
}

/** A value that can be bound. JSON has neither bytes nor infinite numbers. */
function jsonOf(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (ArrayBuffer.isView(value)) return `["${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"]`;
  if (typeof value !== 'number') return JSON.stringify(value ?? null);
  if (Number.isNaN(value)) return 'null';
  if (!Number.isFinite(value)) return value > 0 ? '9e999' : '-9e999';
  // without a point or an exponent, it would be an integer
  return Number.isInteger(value) && !String(value).includes('e') ? `${value}.0` : String(value);
}
