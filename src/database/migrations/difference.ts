import {
  type AbstractSqlPlatform,
  type Column,
  type DatabaseSchema,
  SchemaComparator,
  type SchemaDifference,
  type SqlSchemaGenerator,
  type TableDifference,
} from '@mikro-orm/sql';
import type { MigrationTools } from '../../dialect/migration-tools.ts';
import type { Mapper } from '../mapper.ts';
import { statementsOf } from '../statements-of.ts';

/**
 * Compares two schemas. MikroORM takes a removed and a new column for a rename if they look alike; here only a person decides
 * that, see renames.ts.
 */
export function compareSchemas(mapper: Mapper, from: DatabaseSchema, to: DatabaseSchema): SchemaDifference {
  const difference = new SchemaComparator(mapper.driver.getPlatform() as AbstractSqlPlatform).compare(from, to);
  for (const table of Object.values(difference.changedTables)) {
    for (const [old, column] of Object.entries(table.renamedColumns)) {
      table.addedColumns[column.name] = column;
      table.removedColumns[old] = table.fromTable.getColumn(old) as Column;
    }
    table.renamedColumns = {};
  }
  return difference;
}

/**
 * The statements that lead from one schema to another.
 *
 * @param valuesOf Expressions for columns of a table that are required from now on, if the dialect alters tables itself.
 */
export function statementsFor(
  mapper: Mapper,
  { alterTable }: MigrationTools,
  difference: SchemaDifference,
  valuesOf: (table: string) => ReadonlyMap<string, string> = () => new Map(),
): string[] {
  const generator = mapper.schema as unknown as SqlSchemaGenerator;
  const written = (part: SchemaDifference) =>
    statementsOf(generator.diffToSQL(part, { wrap: false, safe: false, dropTables: true } as never));
  if (!alterTable) return written(difference).map(ended);
  const { changedTables, changedViews, newViews } = difference;
  return [
    ...written({ ...difference, changedTables: {}, newViews: {}, changedViews: {} }),
    ...Object.values(changedTables).flatMap((table) => alterTable(mapper, table, valuesOf(table.name))),
    ...written({ ...nothing(difference), newViews, changedViews }),
  ].map(ended);
}

function nothing({ fromSchema }: SchemaDifference): SchemaDifference {
  const lists = { orphanedForeignKeys: [], newNativeEnums: [], removedNativeEnums: [] };
  const sets = { newNamespaces: new Set<string>(), removedNamespaces: new Set<string>() };
  const kinds = ['Tables', 'Views', 'Routines'].flatMap((kind) =>
    ['new', 'changed', 'removed'].map((how) => [`${how}${kind}`, {}]),
  );
  return { ...lists, ...sets, ...Object.fromEntries(kinds), fromSchema } as SchemaDifference;
}

function ended(statement: string): string {
  return `${statement.trim().replace(/;+$/, '')};`;
}

/** The differences, one line each: `person.phone is new`. */
export function changesIn({
  changedTables,
  newTables,
  newViews,
  removedTables,
  removedViews,
  ...rest
}: SchemaDifference): string[] {
  const views = [...Object.keys(newViews), ...Object.keys(removedViews), ...Object.keys(rest.changedViews)];
  const enums = [...rest.newNativeEnums, ...rest.removedNativeEnums].map(({ name }) => `the type ${name} differs`);
  const routines = [rest.newRoutines, rest.changedRoutines, rest.removedRoutines].flatMap((each) => Object.keys(each));
  return [
    ...Object.keys(newTables).map((name) => `the table ${plainName(name)} is new`),
    ...Object.keys(removedTables).map((name) => `the table ${plainName(name)} is gone`),
    ...Object.values(changedTables).flatMap(changesOfTable),
    ...views.map((name) => `the view ${name} differs`),
    ...enums,
    ...routines.map((name) => `the routine ${name} differs`),
  ];
}

function changesOfTable(table: TableDifference): string[] {
  const name = plainName(table.name);
  const parts = { Indexes: 'indexes', ForeignKeys: 'foreign keys', Checks: 'checks', Triggers: 'triggers', Policies: 'policies' };
  const changed = Object.entries(parts).filter(([part]) =>
    (['added', 'changed', 'removed', 'renamed'] as const).some(
      (how) => Object.keys((table as unknown as Record<string, object>)[`${how}${part}`] ?? {}).length > 0,
    ),
  );
  const columns = [
    ...Object.keys(table.addedColumns).map((column) => `${name}.${column} is new`),
    ...Object.keys(table.removedColumns).map((column) => `${name}.${column} is gone`),
    ...Object.entries(table.changedColumns).map(
      ([column, { changedProperties }]) => `${name}.${column} differs: ${[...changedProperties].join(', ')}`,
    ),
  ];
  const others = changed.map(([, words]) => `${words} of ${name} differ`);
  // changes that follow from a new or removed column are not listed
  if (columns.length > 0) return columns;
  return others.length > 0 ? others : [`the table ${name} differs`];
}

/** A table's name without the default schema of PostgreSQL. */
export function plainName(name: string): string {
  return name.replace(/^public\./, '');
}
