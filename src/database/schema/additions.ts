import {
  type AbstractSqlConnection,
  type AbstractSqlPlatform,
  DatabaseSchema,
  SchemaComparator,
  type SqlSchemaGenerator,
} from '@mikro-orm/sql';
import type { Mapper } from '../mapper.ts';
import { statementsOf } from '../statements-of.ts';

type SchemaDifference = ReturnType<SchemaComparator['compare']>;
type TableDifference = SchemaDifference['changedTables'][string];

/** A column that must not be added. */
export interface Excepted {
  readonly table: { readonly name: string; readonly schema: string | null };
  readonly column: string;
}

/**
 * The statements that add everything that the models have and the database lacks: tables, columns, indexes, and the constraints
 * of new columns. MikroORM takes a removed and a new column for a rename if they look alike. Declarest never does: the values of
 * the old column may be hidden, and the new column may be visible.
 */
export async function additionsTo(mapper: Mapper, excepted: readonly Excepted[] = []): Promise<readonly string[]> {
  const generator = mapper.schema as unknown as SqlSchemaGenerator;
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  const connection = mapper.driver.getConnection() as AbstractSqlConnection;
  const wanted = generator.getTargetSchema();
  const found = await DatabaseSchema.create(connection, platform, mapper.config, undefined, wanted.getNamespaces());
  await found.loadRoutines(connection, platform, [...wanted.getNamespaces()]);
  found.prune(undefined, []);
  wanted.prune(undefined, []);
  const difference = new SchemaComparator(platform).compare(found, wanted);
  // for a constraint, SQLite would recreate the table without the columns that the models do not have
  const takesConstraints = platform.getSchemaHelper()?.supportsSchemaConstraints() === true;
  for (const [name, table] of Object.entries(difference.changedTables)) {
    difference.changedTables[name] = additionsOf(table, excepted, platform, takesConstraints);
  }
  const additions: SchemaDifference = {
    ...difference,
    changedViews: {},
    changedRoutines: {},
  };
  return statementsOf(generator.diffToSQL(additions, { safe: true, wrap: false } as never));
}

/** Only the additions of a difference. */
function additionsOf(
  difference: TableDifference,
  excepted: readonly Excepted[],
  platform: AbstractSqlPlatform,
  takesConstraints: boolean,
): TableDifference {
  const { addedChecks, addedForeignKeys, addedIndexes, addedTriggers, fromTable, name, renamedColumns, toTable } = difference;
  const standard = platform.getDefaultSchemaName();
  const isExcepted = (column: string) =>
    excepted.some(
      (one) =>
        one.column === column &&
        one.table.name === toTable.name &&
        (one.table.schema ?? standard) === (toTable.schema ?? standard),
    );
  const added = { ...difference.addedColumns };
  for (const column of Object.values(renamedColumns)) added[column.name] = column;
  const addedColumns = pick(added, (column) => !isExcepted(column.name));
  const isNew = (columns: readonly string[]) => columns.every((column) => Object.hasOwn(addedColumns, column));
  return {
    name,
    fromTable,
    toTable,
    addedColumns,
    addedIndexes: pick(addedIndexes, ({ columnNames }) => !columnNames.some(isExcepted)),
    addedChecks: takesConstraints ? pick(addedChecks, ({ columnName }) => columnName !== undefined && isNew([columnName])) : {},
    addedForeignKeys: pick(
      addedForeignKeys,
      ({ columnNames }) => isNew(columnNames) && (takesConstraints || columnNames.length === 1),
    ),
    addedTriggers,
    addedPolicies: {},
    changedColumns: {},
    changedIndexes: {},
    changedChecks: {},
    changedTriggers: {},
    changedForeignKeys: {},
    removedColumns: {},
    removedIndexes: {},
    removedChecks: {},
    removedTriggers: {},
    removedPolicies: {},
    removedForeignKeys: {},
    renamedColumns: {},
    renamedIndexes: {},
  };
}

function pick<Item>(items: Readonly<Record<string, Item>>, keeps: (item: Item) => boolean): Record<string, Item> {
  return Object.fromEntries(Object.entries(items).filter(([, item]) => keeps(item)));
}
