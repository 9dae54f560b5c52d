import { mapInTurns } from '../../event-loop.ts';
import type { RowSource } from '../dialect.ts';

/** One parameter for each column, so that the same columns make the same statement for any number of rows. */
export const postgresRows: RowSource = {
  mostRows: () => Number.POSITIVE_INFINITY,
  async of(types, rows) {
    const lists: (string | null)[][] = [];
    for (const column of types.keys()) lists.push(await mapInTurns(rows, (row) => textOf(row[column])));
    const sources = types.map((_, column) => `$${column + 1}::text[]`).join(', ');
    const names = types.map((_, column) => `t${column}`).join(', ');
    const columns = types.map((type, column) => `v.t${column}::${type} as c${column}`).join(', ');
    const sql = `(select ${columns}, v.n from unnest(${sources}) with ordinality as v(${names}, n))`;
    return { sql, params: lists, order: ' order by n' };
  },
};

/** A value as the server reads it for any type. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  if (Array.isArray(value)) return `{${value.map(itemOf).join(',')}}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function itemOf(item: unknown): string {
  if (Array.isArray(item)) return `{${item.map(itemOf).join(',')}}`;
  const text = textOf(item);
  return text === null ? 'null' : `"${text.replace(/["\\]/g, '\\$&')}"`;
}
