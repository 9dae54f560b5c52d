import type { DatabaseSchema } from '@mikro-orm/sql';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import { plainName } from './difference.ts';
import { MigrationError } from './migration-error.ts';
import type { SchemaData, TableData } from './snapshot.ts';

/** A renamed table, or with `column` a renamed column. `table` is the new name of the table. */
export interface Rename {
  readonly table: string;
  readonly schema: string | undefined;
  readonly column: string | null;
  readonly from: string;
  readonly to: string;
}

const labelOf = ({ name, schema }: { name: string; schema?: string | undefined }) =>
  plainName(schema ? `${schema}.${name}` : name);

/** Reads `--rename table.old=new` and `--rename old=new`, and checks each against the last migration and the models. */
export function readRenames(given: readonly string[], base: SchemaData, models: DatabaseSchema): Rename[] {
  const parts = given.map((text) => {
    const [, left = '', right = ''] = /^([^=]+)=([^=]+)$/.exec(text.trim()) ?? [];
    if (left === '') throw wrong(text, 'write table.old=new for a column, or old=new for a table');
    return { text, left: left.trim(), right: right.trim() };
  });
  const isTable = (left: string) => !left.includes('.') || base.tables.some((table) => labelOf(table) === left);
  const tables = parts.filter(({ left }) => isTable(left)).map((part) => tableRename(part, base, models));
  const renamed = renameAll(base, tables);
  const columns = parts.filter(({ left }) => !isTable(left)).map((part) => columnRename(part, tables, renamed, models));
  return [...tables, ...columns];
}

interface Part {
  readonly text: string;
  readonly left: string;
  readonly right: string;
}

function tableRename({ text, left, right }: Part, base: SchemaData, models: DatabaseSchema): Rename {
  const known = base.tables.map(labelOf);
  const old = base.tables.find((table) => labelOf(table) === left);
  if (!old) throw wrong(text, `the migrations have no table "${left}";${didYouMean(left, known)} tables: ${listed(known)}`);
  const wanted = models.getTables().map(labelOf);
  if (wanted.includes(left)) throw wrong(text, `the models still have the table "${left}"`);
  const target = models.getTables().find((table) => labelOf(table) === right);
  const added = wanted.filter((name) => !known.includes(name));
  if (!target || known.includes(right))
    throw wrong(text, `the models have no new table "${right}";${didYouMean(right, added)} new tables: ${listed(added)}`);
  return { table: target.name, schema: old.schema, column: null, from: old.name, to: target.name };
}

function columnRename(
  { text, left, right: given }: Part,
  tables: readonly Rename[],
  base: SchemaData,
  models: DatabaseSchema,
): Rename {
  const dot = left.lastIndexOf('.');
  const [named, from] = [left.slice(0, dot), left.slice(dot + 1)];
  const label = tables.find((rename) => rename.from === named)?.to ?? named;
  const table = base.tables.find((each) => labelOf(each) === label);
  const known = base.tables.map(labelOf);
  if (!table) throw wrong(text, `the migrations have no table "${named}";${didYouMean(named, known)} tables: ${listed(known)}`);
  const to = given.startsWith(`${label}.`) ? given.slice(label.length + 1) : given;
  const columns = Object.keys(table.columns);
  const wanted =
    models
      .getTables()
      .find((each) => labelOf(each) === label)
      ?.getColumns() ?? [];
  const isWanted = (name: string) => wanted.some((column) => column.name === name);
  if (!columns.includes(from))
    throw wrong(
      text,
      `the migrations have no column "${from}" in ${named};${didYouMean(from, columns)} columns: ${listed(columns)}`,
    );
  if (isWanted(from)) throw wrong(text, `the models still have the column ${label}.${from}`);
  const added = wanted.map(({ name }) => name).filter((name) => !columns.includes(name));
  if (!added.includes(to))
    throw wrong(text, `the models have no new column "${to}" in ${label};${didYouMean(to, added)} new columns: ${listed(added)}`);
  return { table: table.name, schema: table.schema, column: from, from, to };
}

function wrong(text: string, reason: string): MigrationError {
  return new MigrationError(`--rename ${text}: ${reason}; nothing was written`, { isCall: true });
}

/** A schema after all renames. */
export function renameAll(schema: SchemaData, renames: readonly Rename[]): SchemaData {
  return renames.reduce((data, rename) => (rename.column === null ? withTable(data, rename) : withColumn(data, rename)), schema);
}

const full = (name: string, schema: string | undefined) => (schema ? `${schema}.${name}` : name);

function withTable(data: SchemaData, { from, schema, to }: Rename): SchemaData {
  const swap = (name: string) => (name === full(from, schema) || (!schema && name === from) ? full(to, schema) : name);
  const tables = data.tables.map((table) => ({
    ...table,
    name: table.name === from && table.schema === schema ? to : table.name,
    foreignKeys: mapped(table.foreignKeys, (key) => ({
      ...key,
      localTableName: swap(key.localTableName),
      referencedTableName: swap(key.referencedTableName),
    })),
    // PostgreSQL names the primary key after the table
    indexes: table.indexes?.map((index) =>
      index.primary && index.keyName === `${from}_pkey` && table.name === from ? { ...index, keyName: `${to}_pkey` } : index,
    ),
  }));
  return { ...data, tables: tables as TableData[] };
}

function withColumn(data: SchemaData, { from, schema, table: name, to }: Rename): SchemaData {
  const swap = (column: string) => (column === from ? to : column);
  const tables = data.tables.map((table) => {
    const isTarget = table.name === name && table.schema === schema;
    const foreignKeys = mapped(table.foreignKeys, (key) => ({
      ...key,
      columnNames: isTarget ? key.columnNames.map(swap) : key.columnNames,
      referencedColumnNames:
        key.referencedTableName === full(name, schema) ? key.referencedColumnNames.map(swap) : key.referencedColumnNames,
    }));
    if (!isTarget) return { ...table, foreignKeys };
    const columns = Object.values(table.columns).map((column) => [swap(column.name), { ...column, name: swap(column.name) }]);
    const indexes = table.indexes?.map((index) => ({
      ...index,
      columnNames: index.columnNames.map(swap),
      ...(index.columns && { columns: index.columns.map((column) => ({ ...column, name: swap(column.name) })) }),
    }));
    const checks = table.checks?.map((check) => ({ ...check, ...(check.columnName && { columnName: swap(check.columnName) }) }));
    return { ...table, columns: Object.fromEntries(columns), foreignKeys, indexes, checks };
  });
  return { ...data, tables: tables as TableData[] };
}

function mapped<Value>(values: Readonly<Record<string, Value>> | undefined, change: (value: Value) => Value) {
  return values && Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
