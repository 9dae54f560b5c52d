import { dialectOf } from '../../dialect/dialect.ts';
import type { Mapper } from '../mapper.ts';
import type { FoundColumn, FoundTable, WantedColumn, WantedTable } from './catalogue.ts';
import { listIn } from './check-list.ts';

/** A difference because of which the database does not match the models. */
export interface Difference {
  readonly kind: 'table' | 'column' | 'misfit' | 'unknown';
  readonly table: WantedTable;
  /** Absent if the whole table is missing. */
  readonly column?: WantedColumn;
  /** The model or property that needs it; the column if no model has it. */
  readonly subject: string;
  /** The problem, with the found and the needed state. */
  readonly fault: string;
  /** How to fix it. */
  readonly remedy: string;
}

/** The remedy for differences that `schema: update` would fix. */
export const additionRemedy =
  'run "declarest migrate create" and "declarest migrate up", or set app_main.database.schema to update';

/** Compares the models with tables of the database. Additional tables, indexes and optional columns are ignored. */
export function differencesOf(
  mapper: Mapper,
  wanted: readonly WantedTable[],
  found: readonly FoundTable[],
): readonly Difference[] {
  return wanted.flatMap((table) => {
    const { schema, name } = table;
    const existing = found.find((one) => one.name === name && one.schema === schema);
    if (!existing) return [missingTable(table)];
    const columns = new Map(existing.columns.map((column) => [column.name, column]));
    const differences = table.columns.flatMap((column) => {
      const has = columns.get(column.name);
      return has ? (misfit(mapper, table, existing, column, has) ?? []) : [missingColumn(table, column)];
    });
    if (table.isView || existing.isView || !table.isWritten) return differences;
    const known = new Set(table.columns.map((column) => column.name));
    const required = existing.columns.filter((column) => !known.has(column.name) && needsValue(column));
    return [...differences, ...required.map((column) => unknownColumn(table, column))];
  });
}

function missingTable(table: WantedTable): Difference {
  const kind = table.isView ? 'view' : 'table';
  const fault = `the ${kind} ${labelOf(table)} does not exist`;
  return { kind: 'table', table, subject: table.model, fault, remedy: additionRemedy };
}

function missingColumn(table: WantedTable, column: WantedColumn): Difference {
  const fault = `the ${table.isView ? 'view' : 'table'} ${labelOf(table)} has no column ${column.name}; needed: ${needOf(table, column)}`;
  const remedy = table.isView ? 'recreate the view' : additionRemedy;
  return { kind: 'column', table, column, subject: column.property, fault, remedy };
}

/** The reason why a column cannot store the values of a property, or return them unchanged; null if it can. */
function misfit(
  mapper: Mapper,
  table: WantedTable,
  { isView }: FoundTable,
  column: WantedColumn,
  found: FoundColumn,
): Difference | null {
  const place = `the column ${labelOf(table)}.${column.name}`;
  const difference = (fault: string, remedy: string): Difference => ({
    kind: 'misfit',
    table,
    column,
    subject: column.property,
    fault: `${place} ${fault}`,
    remedy,
  });
  const change = 'change the column by a migration';
  // the types of a view follow from its tables, and nothing is written to it
  if (isView || table.isView) return null;
  const needed = dialectOf(mapper).schema.misfit(column, found);
  if (needed !== null)
    return difference(`is ${found.type}; needed: ${needed}`, `${change}, or declare the property as the column is`);
  const refused = refusedItems(column, found);
  if (refused.length > 0)
    return difference(`refuses the value ${refused.join(', ')}`, `${change}, or remove the value from the model`);
  if (found.isGenerated && !column.generated)
    return difference('is generated; needed: a column that can be written', `${change}, or declare the property as generated`);
  if (column.generated && !found.isGenerated) return difference(`is not generated; needed: ${column.generated}`, change);
  if (column.autoincrement && !found.isNumbered && !found.hasDefault)
    return difference('does not generate numbers; needed: an auto-increment or identity column', change);
  if (column.nullable && found.isRequired && !found.isNumbered)
    return difference('refuses null; needed: a column that accepts it', `${change}, or declare the property as not nullable`);
  if (hasDefault(column) && column.needsDefault && !column.nullable && !found.hasDefault && !found.isNumbered)
    return difference(`has no default; needed: default ${column.default}`, change);
  return null;
}

function unknownColumn(table: WantedTable, { name, type }: FoundColumn): Difference {
  return {
    kind: 'unknown',
    table,
    subject: table.model,
    fault: `the column ${labelOf(table)}.${name} (${type}) requires a value, but no property maps to it, so no row can be inserted`,
    remedy: 'add a property for it, or give the column a default',
  };
}

function needsValue({ hasDefault, isGenerated, isNumbered, isRequired }: FoundColumn): boolean {
  return isRequired && !hasDefault && !isGenerated && !isNumbered;
}

/** Values of the model that the type of a column or a check rejects. */
function refusedItems({ enumItems }: WantedColumn, { checks, labels }: FoundColumn): readonly string[] {
  if (!enumItems) return [];
  const lists = [...(labels ? [labels] : []), ...checks.flatMap((check) => listIn(check) ?? [])];
  return enumItems.filter((item) => lists.some((list) => !list.includes(String(item))));
}

export function hasDefault(column: WantedColumn): boolean {
  return column.default !== undefined && column.default !== null && column.default.toLowerCase() !== 'null';
}

function needOf({ isView }: WantedTable, { enumItems, nullable, type }: WantedColumn): string {
  const items = enumItems ? ` of ${enumItems.join(', ')}` : '';
  return `${type}${items}${nullable || isView ? '' : ' not null'}`;
}

export function labelOf({ name, schema }: { readonly name: string; readonly schema: string | null }): string {
  return schema === null ? name : `${schema}.${name}`;
}
