import type { SqlSyntax } from '../../dialect/dialect.ts';
import type { ManySelection } from './row-selection.ts';

/**
 * The bytes of all rows that to-many associations embed in a row, in SQL. `parent` is the association that the row belongs to, or
 * null for the root; `columns` are those of the row.
 */
export function embeddedSize(
  many: readonly ManySelection[],
  parent: number | null,
  columns: readonly string[],
  sql: Pick<SqlSyntax, 'bytesOf'>,
): string {
  const sizes = many.flatMap((selection, source) => {
    if (selection.parent !== parent) return [];
    const { conditions, joins, owner, parentColumns, table } = selection;
    const isOwned = owner.map((column, i) => `${column} = ${columns[parentColumns[i] as number]}`);
    const own = selection.columns.map((column) => sql.bytesOf(column));
    const size = [...own, embeddedSize(many, source, selection.columns, sql)].join(' + ');
    const from = [table, ...joins].join(' ');
    return `coalesce((select sum(${size}) from ${from} where ${[...isOwned, ...conditions].join(' and ')}), 0)`;
  });
  return sizes.length === 0 ? '0' : sizes.join(' + ');
}
