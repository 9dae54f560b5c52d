import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { Pieces } from '../../dialect/dialect.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { hasDiscriminator, isTablePerType } from '../../model/hierarchy.ts';
import { keyOf } from '../../model/identifier.ts';
import { columnOf, quoted, tableOf } from './table-name.ts';

/** Thrown while statements are planned, with the reason why only MikroORM can read the rows of a model. */
export class NotCompilable extends Error {}

/** The table that holds the rows of a class. */
export function plainTable(mapper: Mapper, meta: EntityMetadata): string {
  if (isTablePerType(meta)) throw new NotCompilable(`${meta.className} has a table for each type`);
  if (meta.virtual || meta.schema === '*') throw new NotCompilable(`${meta.className} has no table of its own`);
  return tableOf(mapper, meta);
}

/** The column of a model's key. */
export function keyColumn(mapper: Mapper, meta: EntityMetadata): string {
  const columns = meta.compositePK ? [] : keyOf(meta).fieldNames;
  if (columns.length !== 1) throw new NotCompilable(`${meta.className} has a key of several columns`);
  return quoted(mapper, columns[0] as string);
}

/** The foreign key column of an association; null if it has no single one. */
export function foreignKey(mapper: Mapper, property: EntityProperty): string | null {
  const isOwn = property.owner || property.kind === ReferenceKind.MANY_TO_ONE;
  return isOwn && !property.polymorphic && property.fieldNames?.length === 1 ? columnOf(mapper, property) : null;
}

/** The column that tells the class of a row. */
export function discriminatorColumn(mapper: Mapper, { root }: EntityMetadata): string {
  return columnOf(mapper, root.properties[root.discriminatorColumn as never] as EntityProperty);
}

/** The condition for rows of a class among those of its table; none if the table has no other rows. */
export function classConditions(mapper: Mapper, meta: EntityMetadata, alias: string): string[] {
  if (!hasDiscriminator(meta) || meta.root === meta) return [];
  const values = Object.entries(meta.root.discriminatorMap ?? {})
    .filter(([, type]) => type === meta.class || type.prototype instanceof meta.class)
    .map(([value]) => literal(value));
  return [`${alias}.${discriminatorColumn(mapper, meta)} in (${values.join(', ')})`];
}

/** The table of a many-to-many association, its name and its two columns in SQL. */
export interface Pivot {
  readonly table: string;
  readonly owner: string;
  readonly item: string;
}

/** The rows of one class in an association: those of `from` whose `column` equals `ownColumn` of the row that has it. */
export interface AssociatedRows {
  /** The table under its alias, joined to the pivot table if there is one. */
  readonly from: string;
  readonly column: string;
  /** The column of the row that has the association, without alias. */
  readonly ownColumn: string;
  /** The type column that the row must also match, if it can point to rows of several classes. */
  readonly ownType: { readonly column: string; readonly value: string } | null;
  /** Conditions on the rows themselves. */
  readonly conditions: readonly string[];
}

/**
 * Finds the tables and columns of an association from a class to one of its target classes. `alias` is the alias of the rows, and
 * `pivotAlias` that of the pivot table.
 */
export function associatedRows(
  mapper: Mapper,
  property: EntityProperty,
  { owner, target }: { readonly owner: EntityMetadata; readonly target: EntityMetadata },
  alias: string,
  pivotAlias: string,
): AssociatedRows {
  refuseUnusual(property);
  const table = `${plainTable(mapper, target)} as ${alias}`;
  const shared = { from: table, ownType: null, conditions: classConditions(mapper, target, alias) };
  if (property.kind === ReferenceKind.MANY_TO_MANY) {
    const pivot = pivotOf(mapper, property);
    const on = `${alias}.${keyColumn(mapper, target)} = ${pivotAlias}.${pivot.item}`;
    return {
      ...shared,
      from: `${pivot.table} as ${pivotAlias} inner join ${table} on ${on}`,
      column: `${pivotAlias}.${pivot.owner}`,
      ownColumn: keyColumn(mapper, owner),
    };
  }
  const key = `${alias}.${keyColumn(mapper, target)}`;
  if (property.polymorphic) {
    const [type, ...columns] = property.fieldNames;
    const value = Object.entries(property.discriminatorMap ?? {}).find(([, cls]) => cls === target.class)?.[0];
    if (value === undefined) throw new NotCompilable(`"${String(property.name)}" has a type without a name`);
    const ownType = { column: quoted(mapper, type as string), value: literal(value) };
    return { ...shared, column: key, ownColumn: single(mapper, property, columns), ownType };
  }
  if (property.kind === ReferenceKind.MANY_TO_ONE || (property.kind === ReferenceKind.ONE_TO_ONE && property.owner))
    return { ...shared, column: key, ownColumn: single(mapper, property, property.fieldNames) };
  const inverse = target.properties[property.mappedBy as never] as EntityProperty;
  if (inverse.polymorphic) throw new NotCompilable(`"${String(property.name)}" belongs to rows of several classes`);
  const column = single(mapper, property, inverse.joinColumns ?? inverse.fieldNames);
  return { ...shared, column: `${alias}.${column}`, ownColumn: keyColumn(mapper, owner) };
}

/** The condition that associated rows belong to the row under `alias`. */
export function belongsTo<Part>({ column, ownColumn, ownType }: AssociatedRows, alias: Pieces<Part>): Pieces<Part> {
  const isTarget = [`${column} = `, ...alias, `.${ownColumn}`];
  return ownType ? [...isTarget, ' and ', ...alias, `.${ownType.column} = ${ownType.value}`] : isTarget;
}

/** The pivot table of a many-to-many association. */
export function pivotOf(mapper: Mapper, property: EntityProperty): Pivot {
  const { inverseJoinColumns, joinColumns, pivotTable } = property;
  const owner = single(mapper, property, joinColumns);
  const item = single(mapper, property, inverseJoinColumns);
  if (!pivotTable || owner === item) throw new NotCompilable(`"${String(property.name)}" has no plain pivot table`);
  const names = pivotTable.split('.').map((part) => quoted(mapper, part));
  return { table: names.join('.'), owner, item };
}

function single(mapper: Mapper, property: EntityProperty, columns: readonly string[] | undefined): string {
  if (columns?.length === 1) return quoted(mapper, columns[0] as string);
  throw new NotCompilable(`"${String(property.name)}" is not an association by a single column`);
}

/** Rejects associations with restrictions or mappings of their own. */
export function refuseUnusual({ filters, mapToPk, name, targetKey, through, where }: EntityProperty): void {
  if (where || mapToPk || through || filters || targetKey)
    throw new NotCompilable(`"${String(name)}" is restricted by the model, or is not a plain association`);
}

function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** Rejects models with a normalizer: it needs the whole row, and a statement reads only the fields that a request chooses. */
export function refuseNormalized({ normalizations }: FieldPlan): void {
  const [first] = normalizations ?? [];
  if (first) throw new NotCompilable(`${first[0].className} goes out as ${first[1].by} makes it`);
}
