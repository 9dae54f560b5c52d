import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { AbstractSqlPlatform, SqlSchemaGenerator } from '@mikro-orm/sql';
import type { Mapper } from '../mapper.ts';
import { isMadePivot } from '../orm/made-pivot.ts';
import type { WantedColumn, WantedTable } from './catalogue.ts';

/** The tables and views that the models of an application need. */
export function wantedTables(mapper: Mapper): readonly WantedTable[] {
  const generator = mapper.schema as unknown as SqlSchemaGenerator;
  const target = generator.getTargetSchema();
  const all = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  const standard = platform.getDefaultSchemaName();
  const wanted: WantedTable[] = [];
  for (const table of target.getTables()) {
    const metas = all.filter(
      (meta) => !meta.embeddable && meta.collection === table.name && (meta.schema ?? standard) === (table.schema ?? standard),
    );
    const [root] = metas;
    if (!root) continue;
    const columns = table.getColumns().map((column) => ({ ...column, ...propertyOf(column.name, metas, all) }));
    const schema = root.schema ?? null;
    wanted.push({
      schema,
      name: table.name,
      model: modelOf(root, all),
      isWritten: !root.readonly,
      isView: false,
      columns: columns as readonly WantedColumn[],
    });
  }
  for (const meta of all.filter(({ view }) => view)) wanted.push(wantedView(meta));
  return wanted;
}

function wantedView(meta: EntityMetadata): WantedTable {
  const columns = meta.props.filter(hasColumn).flatMap(({ columnTypes, fieldNames, name }) =>
    fieldNames.map((column, position) => ({
      name: column,
      type: columnTypes[position] as string,
      nullable: true,
      property: `${meta.className}.${name}`,
      needsDefault: false,
    })),
  );
  return {
    schema: meta.schema ?? null,
    name: meta.collection,
    model: meta.className,
    isWritten: false,
    isView: true,
    columns: columns as readonly WantedColumn[],
  };
}

const columnKinds: readonly ReferenceKind[] = [ReferenceKind.SCALAR, ReferenceKind.MANY_TO_ONE, ReferenceKind.ONE_TO_ONE];

/** Whether a property is stored in columns of the table of its model. */
export function hasColumn({
  columnTypes,
  embedded,
  fieldNames,
  formula,
  kind,
  mappedBy,
  object,
  persist,
}: EntityProperty): boolean {
  if (persist === false || formula || !columnTypes?.length || !fieldNames?.length) return false;
  if (kind === ReferenceKind.EMBEDDED) return object === true;
  return columnKinds.includes(kind) && !mappedBy && !(embedded && object);
}

/** The property of a column: `Person.vip`, or `Person.address.city` if it is embedded; for a pivot table the association. */
function propertyOf(
  column: string,
  metas: readonly EntityMetadata[],
  all: readonly EntityMetadata[],
): Pick<WantedColumn, 'property' | 'needsDefault'> {
  for (const meta of metas) {
    const found = meta.props.find(({ fieldNames, persist }) => persist !== false && fieldNames?.includes(column));
    if (!found) continue;
    const property = isMadePivot(meta) ? modelOf(meta, all) : `${ownerOf(meta, found, metas)}.${pathOf(found, meta)}`;
    // MikroORM inserts a default that is a value; the database sets a default that is an expression, and the first version
    return { property, needsDefault: found.version === true || (found.default ?? null) === null };
  }
  return { property: (metas[0] as EntityMetadata).className, needsDefault: false };
}

/**
 * The class that declared a property. The root of several classes in one table has the properties of all of them, so the other
 * classes show which of them really have it.
 */
function ownerOf(meta: EntityMetadata, { name }: EntityProperty, metas: readonly EntityMetadata[]): string {
  const others = metas.filter((one) => one !== meta);
  const owners = others.filter(({ properties }) => Object.hasOwn(properties, name));
  if (owners.length === others.length) return meta.className;
  const general = owners.find(({ class: type }) =>
    owners.every((one) => one.class === type || one.class.prototype instanceof type),
  );
  return (general ?? owners[0] ?? meta).className;
}

function pathOf({ embedded, name }: EntityProperty, meta: EntityMetadata): string {
  if (!embedded) return name;
  const parent = meta.properties[embedded[0] as never] as EntityProperty | undefined;
  return parent ? `${pathOf(parent, meta)}.${embedded[1]}` : name;
}

function modelOf(meta: EntityMetadata, all: readonly EntityMetadata[]): string {
  if (!isMadePivot(meta)) return meta.className;
  for (const { className, relations } of all) {
    const association = relations.find(({ owner, pivotTable }) => owner && pivotTable === meta.className);
    if (association) return `${className}.${association.name}`;
  }
  return meta.className;
}
