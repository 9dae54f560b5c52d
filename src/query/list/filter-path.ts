import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import type { AssociationField, FieldPlan } from '../../model/field-plan.ts';
import { targetsOf } from '../../model/field-plan.ts';
import { concreteClasses, discriminatorProperty, hasDiscriminator, isKindOf } from '../../model/hierarchy.ts';
import { keyOf } from '../../model/identifier.ts';
import { readableField } from '../../model/readable-field.ts';
import { type ValueKind, valueKindOf } from '../../model/value-kind.ts';
import { isFiltered } from '../entities/filters.ts';
import { tableOf } from '../rows/table-name.ts';
import { anyOf, type Condition, type ConditionPart, not, root } from './condition.ts';

/** Thrown while a path is followed: why nobody can be let ask for what stands there. */
export class NotAskable extends Error {}

/** A column at the end of a path, for a row of the table that holds it. */
export interface PathColumn {
  readonly property: EntityProperty;
  readonly kind: ValueKind;
  /** As it stands in SQL. */
  readonly sql: Condition;
}

/** What a condition on the value at the end of a path says of a row. */
type Leaf = (column: PathColumn) => Condition;

/** Where a path can end, and how conditions on it are written. */
export interface FilterPath {
  /** The column at its end; null where the path ends with an association. */
  readonly column: { readonly property: EntityProperty; readonly kind: ValueKind } | null;
  /** Whether it goes through one to-many or more. */
  readonly isMany: boolean;
  /** The column itself, where it stands in the row of the list. */
  readonly own: Condition | null;
  /** That a value for which the leaf holds stands at its end: any of them, where there are several. */
  holds(leaf: Leaf): Condition;
  /** That none such stands there; through a to-many: that it does not at the end of the way from any of the items. */
  holdsNot(leaf: Leaf): Condition;
  /** That something stands there at all. */
  readonly exists: Condition;
}

/** Which classes have rows that are hidden from some callers. */
export type IsHiding = (meta: EntityMetadata) => boolean;

/** Follows a path of JSON names through what a plan shows, or throws {@link NotAskable}. */
export function filterPath(mapper: Mapper, meta: EntityMetadata, plan: FieldPlan, path: string, isHiding: IsHiding): FilterPath {
  const follower = new Follower(mapper, isHiding);
  refuseTable(meta);
  const names = path.split('.');
  const start = { plan, names, meta, alias: [root], depth: 0 };
  const end = follower.end(start);
  const holds = (leaf: Leaf) => follower.condition(start, leaf);
  return {
    column: end.column,
    isMany: end.isMany,
    own: follower.own(start),
    holds,
    holdsNot: (leaf) => follower.negated(start, leaf),
    exists: holds(({ sql }) => [...sql, ' is not null']),
  };
}

/** A place on the way: what is shown of rows of a class that go by an alias, and the names that are left. */
interface Place {
  readonly plan: FieldPlan;
  readonly names: readonly string[];
  readonly meta: EntityMetadata;
  readonly alias: Condition;
  readonly depth: number;
}

class Follower {
  readonly #mapper: Mapper;
  readonly #dialect: Dialect;
  readonly #isHiding: IsHiding;

  constructor(mapper: Mapper, isHiding: IsHiding) {
    this.#mapper = mapper;
    this.#dialect = dialectOf(mapper);
    this.#isHiding = isHiding;
  }

  end(place: Place): Pick<FilterPath, 'column' | 'isMany'> {
    const { field, fields } = readable(place.plan, place.names);
    if (field.kind === 'embedded')
      throw new NotAskable(`"${place.names.join('.')}" is no single value; go on to one of its fields`);
    let column: FilterPath['column'] = null;
    this.condition(place, (found) => {
      column = found;
      return found.sql;
    });
    return { column, isMany: fields.some(({ kind }) => kind === 'to-many') };
  }

  own(place: Place): Condition | null {
    let found: Condition | null = null;
    const { fields } = readable(place.plan, place.names);
    if (fields.some(({ kind }) => kind === 'to-one' || kind === 'to-many')) return null;
    this.condition(place, ({ sql }) => {
      found = sql;
      return sql;
    });
    return found;
  }

  condition(place: Place, leaf: Leaf): Condition {
    const step = this.#step(place);
    if ('column' in step) return leaf(step.column);
    return this.#through(step, place, (inner) => (inner ? this.condition(inner, leaf) : []));
  }

  negated(place: Place, leaf: Leaf): Condition {
    const { fields } = readable(place.plan, place.names);
    if (!fields.some(({ kind }) => kind === 'to-many')) {
      const step = this.#step(place);
      if ('column' in step) return this.#dialect.sql.isNotTrue(leaf(step.column));
      return not(this.condition(place, leaf));
    }
    const step = this.#step(place) as Hop;
    return this.#through(step, place, (inner) => (inner ? this.negated(inner, leaf) : []));
  }

  /** The next column or association. What is embedded in the row is passed through. */
  #step(place: Place): { readonly column: PathColumn } | Hop {
    let { names, plan } = place;
    let properties: Readonly<Record<string, EntityProperty | undefined>> | null = null;
    for (;;) {
      const { fields } = readable(plan, names);
      const field = fields[0] as (typeof fields)[number];
      const property = properties ? properties[field.property] : field.metadata;
      if (!property) throw new NotAskable(`"${field.name}" has no column`);
      if (field.kind === 'scalar') return { column: this.#column(property, place, field.name) };
      if (field.kind !== 'embedded') {
        if (properties) throw new NotAskable(`"${field.name}" is an association of what is embedded in a row`);
        const rest = names.slice(1);
        return this.#foreignKey(field, rest, place) ?? { field, rest };
      }
      if (property.object || property.array || field.plan.variants.size !== 1)
        throw new NotAskable(`"${field.name}" is kept as JSON, and has no columns`);
      properties = property.embeddedProps as never;
      plan = field.plan;
      names = names.slice(1);
    }
  }

  /** The key of what a row points to stands in the row itself, and is all the same where everybody sees what it points to. */
  #foreignKey({ kind, metadata, plan }: AssociationField, rest: readonly string[], place: Place): { column: PathColumn } | null {
    const target = metadata.targetMeta;
    const ownsColumn = metadata.kind === ReferenceKind.MANY_TO_ONE || metadata.owner;
    if (kind !== 'to-one' || rest.length !== 1 || !target || metadata.polymorphic || !ownsColumn) return null;
    if (metadata.fieldNames.length !== 1 || this.#isHiding(target) || this.#discriminator(target, '').length > 0) return null;
    refuseTable(target);
    refuseUnusual(this.#mapper, metadata, String(metadata.name));
    const { field } = readable(plan, rest);
    if (!field.metadata.primary || field.kind !== 'scalar' || target.compositePK) return null;
    const sql = [...place.alias, `.${this.#quote(metadata.fieldNames[0] as string)}`];
    return { column: { property: field.metadata, kind: this.#kindOf(field.metadata, target), sql } };
  }

  #column(property: EntityProperty, { alias, meta }: Place, name: string): PathColumn {
    if (property.formula) throw new NotAskable(`"${name}" is computed by the database`);
    if (property.fieldNames?.length !== 1) throw new NotAskable(`"${name}" is no single column`);
    return { property, kind: this.#kindOf(property, meta), sql: [...alias, `.${this.#quote(property.fieldNames[0] as string)}`] };
  }

  /** The values of a discriminator are those of the classes that a row can be of. */
  #kindOf(property: EntityProperty, meta: EntityMetadata): ValueKind {
    if (property.name !== discriminatorProperty(meta)) return valueKindOf(property, this.#mapper.driver.getPlatform());
    return {
      kind: 'enum',
      items: concreteClasses(this.#mapper, meta).map(({ discriminatorValue }) => discriminatorValue as string),
    };
  }

  #through({ field, rest }: Hop, { alias, depth, meta, names }: Place, within: (inner: Place | null) => Condition): Condition {
    const { metadata: property, plan } = field;
    refuseUnusual(this.#mapper, property, names[0] as string);
    const targets = targetsOf(property).map((target) => {
      refuseTable(target);
      const own = new Map([...plan.variants].filter(([concrete]) => isKindOf(concrete, target)));
      const joined = `asked${depth}`;
      const inner =
        rest.length === 0 ? null : { plan: { variants: own }, names: rest, meta: target, alias: [joined], depth: depth + 1 };
      const conditions = [
        ...this.#join(property, target, joined, meta, alias),
        ...this.#discriminator(target, joined),
        ...(this.#isHiding(target) ? [[{ kind: 'seen', meta: target, alias: joined } satisfies ConditionPart]] : []),
        ...(inner ? [within(inner)] : []),
      ];
      return this.#exists(property, target, joined, depth, conditions);
    });
    return anyOf(targets);
  }

  #exists(
    property: EntityProperty,
    target: EntityMetadata,
    joined: string,
    depth: number,
    conditions: readonly Condition[],
  ): Condition {
    const all = conditions.flatMap((condition, i) => (i === 0 ? condition : [' and ', ...condition]));
    const table = `${tableOf(this.#mapper, target)} as ${joined}`;
    if (property.kind !== ReferenceKind.MANY_TO_MANY) return [`exists (select 1 from ${table} where `, ...all, ')'];
    const { inverseJoinColumns, pivotTable } = property;
    const pivot = `linked${depth}`;
    const name = (pivotTable as string)
      .split('.')
      .map((part) => this.#quote(part))
      .join('.');
    const on = `${joined}.${this.#key(target)} = ${pivot}.${this.#quote(inverseJoinColumns[0] as string)}`;
    return [`exists (select 1 from ${name} as ${pivot} inner join ${table} on ${on} where `, ...all, ')'];
  }

  /** Which rows of a table belong to a row. */
  #join(property: EntityProperty, target: EntityMetadata, joined: string, meta: EntityMetadata, alias: Condition): Condition[] {
    const name = String(property.name);
    const single = (columns: readonly string[] | undefined): string => {
      if (columns?.length !== 1) throw new NotAskable(`"${name}" is no association by a single column`);
      return this.#quote(columns[0] as string);
    };
    const key = `${joined}.${this.#key(target)}`;
    const ownKey = `.${this.#key(meta)}`;
    if (property.kind === ReferenceKind.MANY_TO_MANY) {
      const pivot = joined.replace('asked', 'linked');
      single(property.inverseJoinColumns);
      if (!property.pivotTable || property.joinColumns[0] === property.inverseJoinColumns[0])
        throw new NotAskable(`"${name}" has no plain pivot table`);
      return [[`${pivot}.${single(property.joinColumns)} = `, ...alias, ownKey]];
    }
    if (property.polymorphic) {
      const [type, ...columns] = property.fieldNames;
      const value = Object.entries(property.discriminatorMap ?? {}).find(([, cls]) => cls === target.class)?.[0];
      if (value === undefined) throw new NotAskable(`"${name}" has a type for which there is no name`);
      return [
        [`${key} = `, ...alias, `.${single(columns)}`],
        [...alias, `.${this.#quote(type as string)} = '${value.replaceAll("'", "''")}'`],
      ];
    }
    if (property.kind === ReferenceKind.MANY_TO_ONE || (property.kind === ReferenceKind.ONE_TO_ONE && property.owner))
      return [[`${key} = `, ...alias, `.${single(property.fieldNames)}`]];
    const inverse = target.properties[property.mappedBy as never] as EntityProperty;
    if (inverse.polymorphic) throw new NotAskable(`"${name}" belongs to rows of several classes`);
    return [[`${joined}.${single(inverse.joinColumns ?? inverse.fieldNames)} = `, ...alias, ownKey]];
  }

  /** Rows of a class that shares its table with others. */
  #discriminator(meta: EntityMetadata, alias: string): Condition[] {
    if (!hasDiscriminator(meta) || meta.root === meta) return [];
    const column = meta.root.properties[meta.root.discriminatorColumn as never] as EntityProperty;
    const values = Object.entries(meta.root.discriminatorMap ?? {})
      .filter(([, type]) => type === meta.class || type.prototype instanceof meta.class)
      .map(([value]) => `'${value.replaceAll("'", "''")}'`);
    return [[`${alias}.${this.#quote(column.fieldNames[0] as string)} in (${values.join(', ')})`]];
  }

  #key(meta: EntityMetadata): string {
    const columns = meta.compositePK ? [] : keyOf(meta).fieldNames;
    if (columns.length !== 1) throw new NotAskable(`${meta.className} has a key of several columns`);
    return this.#quote(columns[0] as string);
  }

  #quote(name: string): string {
    return this.#mapper.driver.getPlatform().quoteIdentifier(name).toString();
  }
}

interface Hop {
  readonly field: AssociationField;
  readonly rest: readonly string[];
}

function readable(plan: FieldPlan, names: readonly string[]) {
  const found = readableField(plan, names.join('.'));
  if (!found) throw new NotAskable(`"${names.join('.')}" cannot be read`);
  if (!found.isStored) throw new NotAskable(`"${names.join('.')}" is not shown as the database holds it`);
  return found;
}

function refuseTable(meta: EntityMetadata): void {
  if (meta.inheritanceType === 'tpt' || meta.root.inheritanceType === 'tpt')
    throw new NotAskable(`${meta.className} has a table for each type`);
  if (meta.virtual || meta.schema === '*') throw new NotAskable(`${meta.className} has no table of its own`);
}

/** Associations that say more than which rows belong together, and those to what a filter hides. */
function refuseUnusual(mapper: Mapper, property: EntityProperty, name: string): void {
  const unusual = property.where ?? property.mapToPk ?? property.through ?? property.filters ?? property.targetKey;
  if (unusual) throw new NotAskable(`"${name}" is restricted by the model, or no plain association`);
  const filtered = targetsOf(property)
    .flatMap((target) => [target, ...concreteClasses(mapper, target)])
    .find(isFiltered);
  if (filtered) throw new NotAskable(`"${name}" leads to ${filtered.className}, which has a filter that is on by default`);
}
