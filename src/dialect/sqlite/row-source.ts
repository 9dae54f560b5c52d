import type { RowSource } from '../dialect.ts';

/** The maximum of parameters of a statement. */
const mostParameters = 32_766;

export const sqliteRows: RowSource = {
  mostRows: (columns) => Math.max(1, Math.floor(mostParameters / Math.max(1, columns)) - 1),
  of(types, rows) {
    const columns = types.map((_, column) => `column${column + 1} as c${column}`).join(', ');
    const row = `(${types.map(() => '?').join(', ')})`;
    const sql = `(select ${columns} from (values ${rows.map(() => row).join(', ')}))`;
    return { sql, params: rows.flat(), order: '' };
  },
};
