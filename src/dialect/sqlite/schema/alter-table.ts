import type { AbstractSqlPlatform, Column, SchemaHelper, TableDifference } from '@mikro-orm/sql';
import type { Mapper } from '../../../database/mapper.ts';
import { statementsOf } from '../../../database/statements-of.ts';

/**
 * Statements that change a table. SQLite can add and drop simple columns; for all other changes the table is created anew and its rows are
 * copied. MikroORM does so too, but would write null into new columns.
 */
export function alterTable(mapper: Mapper, difference: TableDifference, values: ReadonlyMap<string, string>): string[] {
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  if (mustRebuild(difference)) return rebuilt(platform, difference, values);
  return (platform.getSchemaHelper() as SchemaHelper).alterTable(difference).flatMap(statementsOf);
}

function mustRebuild(difference: TableDifference): boolean {
  const { addedColumns, addedForeignKeys, changedIndexes, fromTable, removedColumns, toTable } = difference;
  const kinds = [
    'changedColumns',
    'addedChecks',
    'removedChecks',
    'changedChecks',
    'changedForeignKeys',
    'removedForeignKeys',
  ] as const;
  if (kinds.some((kind) => Object.keys(difference[kind]).length > 0)) return true;
  if (Object.values(changedIndexes).some(({ primary }) => primary)) return true;
  const added = Object.values(addedColumns);
  if (added.some((column) => !canBeAdded(column))) return true;
  const isNewReference = (columns: readonly string[]) =>
    columns.length === 1 && added.some(({ default: value, name }) => name === columns[0] && value == null);
  if (Object.values(addedForeignKeys).some(({ columnNames }) => !isNewReference(columnNames))) return true;
  if (Object.keys(removedColumns).length === 0) return false;
  // expressions may name a column that is dropped
  return (
    Object.values(removedColumns).some(({ primary }) => primary) ||
    fromTable.getChecks().length > 0 ||
    fromTable.getColumns().some(({ generated }) => generated) ||
    [...fromTable.getIndexes(), ...toTable.getIndexes()].some(({ expression, where }) => expression || where) ||
    toTable.getTriggers().length > 0
  );
}

function canBeAdded({ autoincrement, default: value, generated, nullable, primary }: Column): boolean {
  if (autoincrement || generated || primary) return false;
  return value == null ? nullable === true : /^(-?[\d.]+|'(?:[^']|'')*'|true|false|null)$/i.test(value);
}

/** Tells the columns that are dropped on purpose from those that the models never had: see {@link rebuiltTable}. */
function droppedColumns(columns: readonly Column[]): string {
  return columns.length > 0 ? ` /* drops ${columns.map(({ name }) => name).join(', ')} */` : '';
}

/** The rebuilt table in a statement of a migration, and the columns that it drops on purpose. */
export function rebuiltTable(sql: string): { readonly table: string; readonly drops: readonly string[] } | null {
  const [, table, drops] = /^drop table `([^`]+)`(?: \/\* drops (.*) \*\/)?;?\s*$/.exec(sql.trim()) ?? [];
  return table === undefined ? null : { table, drops: drops?.split(', ') ?? [] };
}

function rebuilt(
  platform: AbstractSqlPlatform,
  { fromTable, toTable }: TableDifference,
  given: ReadonlyMap<string, string>,
): string[] {
  const { name } = toTable;
  const quote = (identifier: string) => platform.quoteIdentifier(identifier).toString();
  const table = quote(name);
  const copyName = `${name}__new`;
  const copy = quote(copyName);
  const columns = toTable.getColumns().filter(({ generated }) => !generated);
  const hasSequence = columns.some(({ autoincrement }) => autoincrement);
  const [create = '', ...rest] = (platform.getSchemaHelper() as SchemaHelper).createTable(toTable);
  const names = columns.map((column) => quote(column.name)).join(', ');
  const values = columns.map(({ default: standard, name }) => {
    const value = given.get(name);
    if (!fromTable.hasColumn(name)) return value ?? standard ?? 'null';
    return value === undefined ? quote(name) : `coalesce(${quote(name)}, ${value})`;
  });
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  return [
    create.replace(`create table ${table}`, `create table ${copy}`),
    `insert into ${copy} (${names}) select ${values.join(', ')} from ${table};`,
    // so that ids of removed rows are not given again
    ...(hasSequence
      ? [
          `delete from sqlite_sequence where name = ${text(copyName)};`,
          `insert into sqlite_sequence (name, seq) select ${text(copyName)}, seq from sqlite_sequence where name = ${text(name)};`,
        ]
      : []),
    `drop table ${table}${droppedColumns(fromTable.getColumns().filter((column) => !toTable.hasColumn(column.name)))};`,
    // otherwise SQLite refuses if a view selects from the table, which does not exist at this moment
    'pragma legacy_alter_table = on;',
    `alter table ${copy} rename to ${table};`,
    'pragma legacy_alter_table = off;',
    ...rest,
  ];
}
