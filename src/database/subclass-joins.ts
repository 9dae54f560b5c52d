import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { QueryBuilderHelper } from '@mikro-orm/sql';
import type { Mapper } from './mapper.ts';

type Join = Parameters<QueryBuilderHelper['createJoinExpression']>[0];

let isDone = false;

/**
 * MikroORM joins a class that shares its table by the discriminator value of that class alone. Many-to-many associations are
 * loaded by such joins, and would lose the items of subclasses: they could be neither shown nor removed.
 */
export function joinSubclasses(): void {
  if (isDone) return;
  isDone = true;
  const { createJoinExpression } = QueryBuilderHelper.prototype;
  QueryBuilderHelper.prototype.createJoinExpression = function (join, ...others) {
    return createJoinExpression.call(this, withSubclasses(join), ...others);
  };
}

function withSubclasses(join: Join): Join {
  const target = join.prop.targetMeta as EntityMetadata | undefined;
  const values = target && !join.path?.endsWith('[pivot]') ? valuesOf(target) : [];
  if (!target || values.length < 2) return join;
  const targetMeta = Object.create(target, { discriminatorValue: { value: undefined } });
  const column = `${join.inverseAlias ?? join.alias}.${String(target.root.discriminatorColumn)}`;
  return {
    ...join,
    prop: Object.create(join.prop, { targetMeta: { value: targetMeta } }),
    cond: { ...join.cond, [column]: { $in: values } },
  };
}

/** The discriminator values of a class and of its subclasses. */
function valuesOf({ class: type, discriminatorValue, root }: EntityMetadata): unknown[] {
  if (root.inheritanceType !== 'sti' || !discriminatorValue) return [];
  const classes = Object.entries(root.discriminatorMap ?? {}) as [string, { readonly prototype: object }][];
  const own = classes.filter(([, each]) => each === (type as unknown) || each.prototype instanceof type);
  return own.map(([value]) => (typeof discriminatorValue === 'number' ? Number(value) : value));
}

/** Makes the discriminator of each class a number if the column holds numbers. MikroORM keeps it as text, and then rejects new entities. */
export function numberDiscriminators(mapper: Mapper): void {
  const models = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  for (const meta of models) {
    const { discriminatorColumn, inheritanceType, properties } = meta.root;
    if (inheritanceType !== 'sti' || meta.discriminatorValue === undefined) continue;
    const property = properties[discriminatorColumn as never] as EntityProperty;
    if (property.runtimeType === 'number') meta.discriminatorValue = Number(meta.discriminatorValue);
  }
}

/**
 * Tells each class the properties of its subclasses in the same table, as MikroORM tells the root class alone. Otherwise a row of a
 * subclass that is read as a row of its parent lacks references, and values whose column has another name than the property.
 */
export function completeParents(mapper: Mapper): void {
  const models = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  // associations have copies of their targets
  const targets = models.flatMap(({ properties }) => Object.values(properties).flatMap(({ targetMeta }) => targetMeta ?? []));
  for (const meta of new Set([...models, ...targets])) {
    if (meta.root.inheritanceType !== 'sti') continue;
    const subclasses = models.filter((other) => other.class.prototype instanceof meta.class);
    if (subclasses.length > 0 && meta.class !== meta.root.class) complete(meta, subclasses);
    // rows of the class itself can have defaults in the other columns, which MikroORM would overwrite with null
    meta.comparableProps = meta.comparableProps.filter(({ inherited }) => !inherited);
  }
}

/**
 * Tells each class with a table of its own that queries select the class of a row, as MikroORM tells the root class alone. Otherwise
 * a row of a subclass that is read as a row of a class between the two is one of that class, without the fields of its own.
 */
export function nameSubclasses(mapper: Mapper): void {
  for (const meta of mapper.getMetadata().getAll().values()) {
    const { inheritanceType, tptDiscriminatorColumn } = meta.root;
    if (inheritanceType === 'tpt' && tptDiscriminatorColumn) meta.tptDiscriminatorColumn = tptDiscriminatorColumn;
  }
}

function complete(meta: EntityMetadata, subclasses: readonly EntityMetadata[]): void {
  const properties = meta.properties as Record<string, unknown>;
  for (const [key, property] of Object.entries(meta.root.properties) as [string, EntityProperty][]) {
    if (Object.hasOwn(properties, key) || !subclasses.some((other) => hasColumns(other, property))) continue;
    // a row of the class itself gets no values for them
    const { default: _, defaultRaw: __, onCreate: ___, onUpdate: ____, ...rest } = property;
    properties[key] = { ...rest, inherited: true };
    meta.propertyOrder.set(key, meta.propertyOrder.size);
  }
  meta.sync();
}

/** Whether a class has the columns of a property of its table's root class: the root can have several properties of a name. */
function hasColumns({ properties }: EntityMetadata, { fieldNames, kind, name, persist }: EntityProperty): boolean {
  const own = properties[name as never] as EntityProperty | undefined;
  const isToMany = kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY;
  return own !== undefined && persist !== false && !isToMany && String(own.fieldNames) === String(fieldNames);
}

/**
 * Tells each class the pivot table of the many-to-many associations that it inherits from an abstract root. MikroORM forgets it
 * if one of these classes owns the association, and then fails when it loads the items.
 */
export function completePivots(mapper: Mapper): void {
  const models = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  for (const meta of models) {
    for (const property of Object.values(meta.properties) as EntityProperty[]) {
      if (!property.mappedBy || property.pivotEntity || !property.pivotTable) continue;
      const owner = property.targetMeta?.properties[property.mappedBy as never] as EntityProperty | undefined;
      if (owner?.pivotEntity) property.pivotEntity = owner.pivotEntity;
    }
  }
}
