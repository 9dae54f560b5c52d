import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { Pieces } from '../../dialect/dialect.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { hasDiscriminator, isTablePerType } from '../../model/hierarchy.ts';
import { keyParts } from '../../model/identifier.ts';
import { columnOf, quoted, tableOf } from './table-name.ts';

/** Thrown while statements are planned, with the reason why only MikroORM can read the rows of a model. */
export class NotCompilable extends Error {}

/** The table that holds the rows of a class. */
export function plainTable(mapper: Mapper, meta: EntityMetadata): string {
  if (isTablePerType(meta)) throw new NotCompilable(`${meta.className} has a table for each type`);
  if (meta.virtual || meta.schema === '*') throw new NotCompilable(`${meta.className} has no table of its own`);
  return tableOf(mapper, meta);
}

/** The columns of a model's key. */
export function keyColumns(mapper: Mapper, meta: EntityMetadata): string[] {
  return keyParts(meta).map(({ column }) => quoted(mapper, column));
}

/** The foreign key column of an association; null if it has no single one. */
export function foreignKey(mapper: Mapper, property: EntityProperty): string | null {
  return holdsForeignKey(property) && property.fieldNames.length === 1 ? columnOf(mapper, property) : null;
}

/** The foreign key columns of an association, in the order of the key columns of its target. */
export function foreignColumns(mapper: Mapper, property: EntityProperty, target: EntityMetadata): string[] {
  return inKeyOrder(mapper, property, target, property.fieldNames, keyParts(target).length);
}

/** Whether the rows of the association's owner hold the key of one class of rows. */
export function holdsForeignKey({ fieldNames, kind, owner, polymorphic }: EntityProperty): boolean {
  const isOwn = owner || kind === ReferenceKind.MANY_TO_ONE;
  return isOwn && !polymorphic && (fieldNames?.length ?? 0) > 0;
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

/** The table of a many-to-many association, its name and its columns in SQL. */
export interface Pivot {
  readonly table: string;
  readonly owner: readonly string[];
  readonly item: readonly string[];
}

/** The rows of one class in an association: those of `from` whose `columns` equal `ownColumns` of the row that has it. */
export interface AssociatedRows {
  /** The table under its alias, joined to the pivot table if there is one. */
  readonly from: string;
  readonly columns: readonly string[];
  /** The columns of the row that has the association, without alias. */
  readonly ownColumns: readonly string[];
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
    const on = keyColumns(mapper, target).map((key, i) => `${alias}.${key} = ${pivotAlias}.${pivot.item[i]}`);
    return {
      ...shared,
      from: `${pivot.table} as ${pivotAlias} inner join ${table} on ${on.join(' and ')}`,
      columns: pivot.owner.map((column) => `${pivotAlias}.${column}`),
      ownColumns: keyColumns(mapper, owner),
    };
  }
  const keys = keyColumns(mapper, target).map((key) => `${alias}.${key}`);
  if (property.polymorphic) {
    const [type, ...columns] = property.fieldNames;
    const value = Object.entries(property.discriminatorMap ?? {}).find(([, cls]) => cls === target.class)?.[0];
    if (value === undefined) throw new NotCompilable(`"${String(property.name)}" has a type without a name`);
    const ownType = { column: quoted(mapper, type as string), value: literal(value) };
    return { ...shared, columns: keys, ownColumns: inKeyOrder(mapper, property, target, columns, keys.length), ownType };
  }
  if (property.kind === ReferenceKind.MANY_TO_ONE || (property.kind === ReferenceKind.ONE_TO_ONE && property.owner))
    return { ...shared, columns: keys, ownColumns: inKeyOrder(mapper, property, target, property.fieldNames, keys.length) };
  const inverse = target.properties[property.mappedBy as never] as EntityProperty;
  if (inverse.polymorphic) throw new NotCompilable(`"${String(property.name)}" belongs to rows of several classes`);
  const ownColumns = keyColumns(mapper, owner);
  const columns = inKeyOrder(mapper, inverse, owner, inverse.joinColumns ?? inverse.fieldNames, ownColumns.length);
  return { ...shared, columns: columns.map((column) => `${alias}.${column}`), ownColumns };
}

/** The condition that associated rows belong to the row under `alias`. */
export function belongsTo<Part>({ columns, ownColumns, ownType }: AssociatedRows, alias: Pieces<Part>): Pieces<Part> {
  const isTarget = columns.flatMap((column, i) => [`${i > 0 ? ' and ' : ''}${column} = `, ...alias, `.${ownColumns[i]}`]);
  return ownType ? [...isTarget, ' and ', ...alias, `.${ownType.column} = ${ownType.value}`] : isTarget;
}

/** The pivot table of a many-to-many association. */
export function pivotOf(mapper: Mapper, property: EntityProperty): Pivot {
  const { inverseJoinColumns, joinColumns, pivotEntity, pivotTable } = property;
  const owner = joinColumns.map((name) => quoted(mapper, name));
  const item = inverseJoinColumns.map((name) => quoted(mapper, name));
  const isPlain = owner.length > 0 && item.length > 0 && !owner.some((column) => item.includes(column));
  if (!pivotTable || !isPlain) throw new NotCompilable(`"${String(property.name)}" has no plain pivot table`);
  const meta = pivotEntity && (mapper.getMetadata().find(pivotEntity as never) as EntityMetadata | undefined);
  // the name of the association's table lacks the schema of its owner
  const table = meta
    ? tableOf(mapper, meta)
    : pivotTable
        .split('.')
        .map((part) => quoted(mapper, part))
        .join('.');
  return { table, owner, item };
}

/** The columns of a foreign key, in the order of the key columns to which they refer. */
function inKeyOrder(
  mapper: Mapper,
  property: EntityProperty,
  target: EntityMetadata,
  columns: readonly string[],
  count: number,
): string[] {
  if (columns.length !== count) throw new NotCompilable(`"${String(property.name)}" does not hold the key of its rows`);
  const { referencedColumnNames: referenced = [] } = property;
  return keyParts(target).map(({ column }, i) => {
    const found = referenced.length === count ? referenced.indexOf(column) : -1;
    return quoted(mapper, columns[found >= 0 ? found : i] as string);
  });
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
