import type { AbstractSqlPlatform, Column, DatabaseTable, SchemaHelper, TableDifference } from '@mikro-orm/sql';
import type { Mapper } from '../../../database/mapper.ts';
import { statementsOf } from '../../../database/statements-of.ts';

/**
 * Statements that change a table. SQLite can add and drop simple columns. For all other changes the table is recreated and its
 * rows are copied. MikroORM does so too, but would write null into new columns.
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

/** Lists the columns that are dropped on purpose, unlike columns that the models never had: see {@link rebuiltTable}. */
function droppedColumns(columns: readonly Column[]): string {
  return columns.length > 0 ? ` /* drops ${columns.map(({ name }) => name).join(', ')} */` : '';
}

/** Lists the indexes and triggers that the migration creates or removes, unlike those that the models never had. */
function knownParts(...tables: readonly DatabaseTable[]): string {
  const names = tables.flatMap((table) => [
    ...table.getIndexes().flatMap(({ keyName, primary }) => (primary ? [] : [keyName])),
    ...table.getTriggers().map(({ name }) => name),
  ]);
  return ` /* models have: ${[...new Set(names)].join(', ')} */`;
}

interface Rebuild {
  readonly table: string;
  /** Columns that are dropped on purpose. */
  readonly drops: readonly string[];
  /** Indexes and triggers of the models, before and after; null in a migration that does not name them. */
  readonly known: readonly string[] | null;
}

/** Reads the rebuilt table from the statement of a migration that drops the old table; null for other statements. */
export function rebuiltTable(sql: string): Rebuild | null {
  const form = /^drop table `([^`]+)`(?: \/\* drops (.*?) \*\/)?(?: \/\* models have: (.*?) \*\/)?;?\s*$/;
  const [, table, drops, known] = form.exec(sql.trim()) ?? [];
  return table === undefined ? null : { table, drops: drops?.split(', ') ?? [], known: known?.split(', ') ?? null };
}

/** Reads the rebuilt table from the statement of a migration that renames the copy; null for other statements. */
export function renamedTable(sql: string): string | null {
  const [, copy, table] = /^alter table `([^`]+)` rename to `([^`]+)`;?\s*$/.exec(sql.trim()) ?? [];
  return table !== undefined && copy === copyOf(table) ? table : null;
}

export function copyOf(table: string): string {
  return `${table}__new`;
}

function rebuilt(
  platform: AbstractSqlPlatform,
  { fromTable, toTable }: TableDifference,
  given: ReadonlyMap<string, string>,
): string[] {
  const { name } = toTable;
  const quote = (identifier: string) => platform.quoteIdentifier(identifier).toString();
  const table = quote(name);
  const copyName = copyOf(name);
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
    // so that ids of removed rows are not reused
    ...(hasSequence
      ? [
          `delete from sqlite_sequence where name = ${text(copyName)};`,
          `insert into sqlite_sequence (name, seq) select ${text(copyName)}, seq from sqlite_sequence where name = ${text(name)};`,
        ]
      : []),
    `drop table ${table}${droppedColumns(fromTable.getColumns().filter((column) => !toTable.hasColumn(column.name)))}${knownParts(fromTable, toTable)};`,
    // otherwise SQLite rejects the rename if a view selects from the table, which does not exist at this moment
    'pragma legacy_alter_table = on;',
    `alter table ${copy} rename to ${table};`,
    'pragma legacy_alter_table = off;',
    ...rest,
  ];
}
