import type { Mapper } from '../database/mapper.ts';
import type { TableName, WantedColumn, WantedTable } from '../database/schema/catalogue.ts';
import { schemaComparison } from '../database/schema/compare.ts';
import type { Inventory, InventoryColumn } from '../database/schema/inventory.ts';
import { faultOf } from '../database/schema/schema-errors.ts';
import { wantedTables } from '../database/schema/wanted-tables.ts';
import { type Naming, propertySource } from './model-source.ts';
import { propertyName } from './names.ts';
import { keyOf, labelOf } from './table-key.ts';

export interface DriftOptions {
  readonly mapper: Mapper;
  readonly inventory: Inventory;
  readonly naming: Naming;
  readonly isWanted: (table: TableName) => boolean;
  /** Whether a comment in the model of a table exempts a column. */
  readonly isIgnored: (table: TableName, column: string) => boolean;
}

/** Every difference between the models of an application and the database, one line each. */
export async function driftOf({ inventory, isIgnored, isWanted, mapper, naming }: DriftOptions): Promise<string[]> {
  const wanted = wantedTables(mapper).filter((table) => isWanted(table));
  if (wanted.length === 0) return [];
  const differences = (await schemaComparison(mapper)()).filter(({ column, kind, table }) => {
    if (!isWanted(table) || kind === 'unknown') return false;
    return column === undefined || !isIgnored(table, column.name);
  });
  return [
    ...differences.map(faultOf),
    ...wanted.flatMap((table) => {
      const found = inventory.tables.find((one) => keyOf(one) === keyOf(table));
      if (!found || table.isView) return [];
      return found.columns
        .filter(
          ({ name }) =>
            !isIgnored(table, name) && !differences.some((one) => one.column?.name === name && keyOf(one.table) === keyOf(table)),
        )
        .flatMap((column) => {
          const property = table.columns.find(({ name }) => name === column.name);
          return property ? changeOf(table, property, column) : missingProperty(table, column, naming);
        });
    }),
  ];
}

function missingProperty(table: WantedTable, column: InventoryColumn, naming: Naming): string[] {
  const start = `${table.model}: the column ${labelOf(table)}.${column.name} (${column.type}) has no property`;
  const { mapping } = column;
  if ('unsupported' in mapping)
    return [`${start}, and cannot have one: ${mapping.unsupported}; add the comment // pull ignores ${column.name}`];
  const name = propertyName(column.name);
  const empty = { ...table, comment: null, columns: [], primaryKey: [], foreignKeys: [], indexes: [], checks: [], view: null };
  const source = propertySource({ kind: 'column', name, column, mapping, notes: [] }, { table: empty }, naming);
  return [`${start}; add ${name}: ${source}`];
}

/** Features of a column that its property lacks, although every value of the property fits. */
function changeOf(table: WantedTable, property: WantedColumn, { isRequired, mapping, name }: InventoryColumn): string[] {
  const place = `${property.property}: the column ${labelOf(table)}.${name}`;
  const lines: string[] = [];
  if (!isRequired && !property.nullable) lines.push(`${place} accepts null, but the property is required; add .nullable()`);
  const items = 'items' in mapping ? mapping.items : undefined;
  const unknown = property.enumItems ? (items ?? []).filter((item) => !property.enumItems?.includes(item)) : [];
  if (unknown.length > 0)
    lines.push(`${place} allows ${unknown.join(', ')}, which the property does not have; add the value to its list`);
  return lines;
}
