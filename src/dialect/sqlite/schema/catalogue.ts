import type { FoundColumn, FoundTable, TableName } from '../../../database/schema/catalogue.ts';

/** Selects the tables and their columns as one JSON text. */
export function sqliteCatalogue(tables: readonly TableName[]): string {
  const bySchema = Map.groupBy(tables, ({ schema }) => schema);
  const parts = Array.from(bySchema, ([schema, some]) => {
    const master = schema === null ? 'sqlite_master' : `\`${schema}\`.sqlite_master`;
    const names = some.map(({ name }) => `(${quoted(name)})`).join(', ');
    // by these names, the query plan shows that only the schema is read: see isOfSchema
    const column = `json_object('name', pragma_column.name, 'type', pragma_column.type, 'isRequired', pragma_column."notnull", 'default', pragma_column.dflt_value, 'hidden', pragma_column.hidden, 'key', pragma_column.pk)`;
    const table = `sqlite_table.name${schema === null ? '' : `, ${quoted(schema)}`}`;
    return (
      `select json_object('schema', ${schema === null ? 'null' : quoted(schema)}, 'name', pragma_wanted.column1, 'isView', sqlite_table.type = 'view', 'sql', sqlite_table.sql, ` +
      `'columns', (select json_group_array(${column}) from pragma_table_xinfo(${table}) pragma_column)) as one ` +
      // table names are case-insensitive
      `from (values ${names}) pragma_wanted join ${master} sqlite_table on sqlite_table.name = pragma_wanted.column1 collate nocase and sqlite_table.type in ('table', 'view')`
    );
  });
  if (parts.length === 0) return `select '[]' as catalogue`;
  return `select json_group_array(json(one)) as catalogue from (${parts.join(' union all ')})`;
}

interface StoredColumn {
  readonly name: string;
  readonly type: string;
  readonly isRequired: number;
  readonly default: string | null;
  readonly hidden: number;
  /** The position in the primary key, from 1. */
  readonly key: number;
}

type StoredTable = TableName & { readonly isView: number; readonly sql: string; readonly columns: readonly StoredColumn[] };

export function sqliteTables(text: string): readonly FoundTable[] {
  return (JSON.parse(text) as readonly StoredTable[]).map(({ columns, isView, name, schema, sql }) => {
    const keys = columns.filter(({ key }) => key > 0).length;
    // `) without rowid, strict`
    const options = /\)([^)]*)$/.exec(sql)?.[1] ?? '';
    const isStrict = /\bstrict\b/i.test(options);
    const found = columns.map((column): FoundColumn => {
      const { default: value, hidden, isRequired, key, type } = column;
      return {
        name: column.name,
        type: type.toLowerCase() || 'without a type',
        base: isStrict ? strictType(type) : type,
        isRequired: isRequired === 1,
        hasDefault: value !== null,
        isGenerated: hidden > 1,
        // such a column is the rowid itself
        isNumbered: key === 1 && keys === 1 && type.toLowerCase() === 'integer' && !/\bwithout\s+rowid\b/i.test(options),
        labels: null,
        checks: checksOf(column.name, sql),
      };
    });
    return { schema, name, isView: isView === 1, columns: found };
  });
}

/**
 * In a strict table, a column of the type `any` takes every value as it is, and others reject values that they cannot convert.
 */
function strictType(type: string): string {
  return /^any$/i.test(type) ? '' : `${type} strict`;
}

/** The lists of values in checks of a column, read from the text: SQLite stores only the statement that created the table. */
function checksOf(column: string, sql: string): string[] {
  const name = column.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const list = new RegExp(`check\\s*\\(\\s*[\`"[]?${name}[\`"\\]]?\\s+in\\s*\\((?:[^')]|'[^']*')*\\)\\s*\\)`, 'gi');
  return sql.match(list) ?? [];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
