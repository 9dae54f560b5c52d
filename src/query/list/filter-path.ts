import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { type AssociationField, type FieldPlan, jsonName, targetsOf } from '../../model/field-plan.ts';
import { concreteClasses, discriminatorProperty, isKindOf } from '../../model/hierarchy.ts';
import { isComposite } from '../../model/identifier.ts';
import { readableField } from '../../model/readable-field.ts';
import { type ValueKind, valueKindOf } from '../../model/value-kind.ts';
import { isFiltered } from '../entities/filters.ts';
import { associatedRows, belongsTo, foreignKey, NotCompilable, plainTable } from '../rows/association.ts';
import { columnOf } from '../rows/table-name.ts';
import { anyOf, type Condition, type ConditionPart, not, root } from './condition.ts';

/** A column at the end of a path, for a row of the table that holds it. */
export interface PathColumn {
  readonly property: EntityProperty;
  readonly kind: ValueKind;
  /** The column in SQL, with its alias. */
  readonly sql: Condition;
}

/** Makes the condition on the column at the end of a path. */
type Leaf = (column: PathColumn) => Condition;

/** A path of fields, and how conditions on the value at its end are written. */
export interface FilterPath {
  /** The column at its end; null if the path ends with an association. */
  readonly column: { readonly property: EntityProperty; readonly kind: ValueKind } | null;
  /** Whether it goes through a to-many association. */
  readonly isMany: boolean;
  /** The column in SQL, if it belongs to the row of the list itself. */
  readonly own: Condition | null;
  /** The column in SQL, and the joins to the rows that it belongs to; null if there can be several such rows, or tables. */
  readonly joined: JoinedColumn | null;
  /** True if the leaf holds for the value at the end; if there are several values, for any of them. */
  holds(leaf: Leaf): Condition;
  /** True if the leaf does not hold; through a to-many association, if there is an item for which it does not hold. */
  holdsNot(leaf: Leaf): Condition;
  /** True if there is a value at the end. */
  readonly exists: Condition;
}

/** A column of an associated row that is joined to the row of the list. Without such a row, it is null. */
export interface JoinedColumn {
  readonly joins: readonly Condition[];
  readonly sql: Condition;
}

/** Names the rows of an association in SQL, by the JSON names that lead to it. */
export type AliasOf = (names: readonly string[]) => string;

const aliasByDepth: AliasOf = ({ length }) => `asked${length - 1}`;

/** Whether rows of a class are hidden from some callers. */
export type IsHiding = (meta: EntityMetadata) => boolean;

/** Follows a path of JSON names through the fields of a plan, or throws {@link NotCompilable}. */
export function filterPath(
  mapper: Mapper,
  meta: EntityMetadata,
  plan: FieldPlan,
  path: string,
  isHiding: IsHiding,
  aliasOf = aliasByDepth,
): FilterPath {
  plainTable(mapper, meta);
  const names = path.split('.');
  if (readable(plan, names).field.kind === 'embedded')
    throw new NotCompilable(`"${path}" is not a single value; name one of its fields`);
  return new PathBuilder(mapper, isHiding, aliasOf).follow({ plan, names, meta, alias: [root], through: [] });
}

/** A position on the path: the class, alias and fields of the rows there, and the names that are left. */
interface Place {
  readonly plan: FieldPlan;
  readonly names: readonly string[];
  readonly meta: EntityMetadata;
  readonly alias: Condition;
  /** The names of the associations that lead there. */
  readonly through: readonly string[];
}

class PathBuilder {
  readonly #mapper: Mapper;
  readonly #dialect: Dialect;
  readonly #isHiding: IsHiding;
  readonly #aliasOf: AliasOf;

  constructor(mapper: Mapper, isHiding: IsHiding, aliasOf: AliasOf) {
    this.#mapper = mapper;
    this.#dialect = dialectOf(mapper);
    this.#isHiding = isHiding;
    this.#aliasOf = aliasOf;
  }

  follow(place: Place): FilterPath {
    const step = this.#step(place);
    return 'column' in step ? this.#atColumn(step.column, place) : this.#through(step, place);
  }

  #atColumn(column: PathColumn, { names, plan }: Place): FilterPath {
    const isOwn = readable(plan, names).fields.every(({ kind }) => kind === 'scalar' || kind === 'embedded');
    return {
      column,
      isMany: false,
      own: isOwn ? column.sql : null,
      joined: { joins: [], sql: column.sql },
      holds: (leaf) => leaf(column),
      holdsNot: (leaf) => this.#dialect.sql.isNotTrue(leaf(column)),
      exists: isNotNull(column),
    };
  }

  /** The next column or association. Names of embedded objects are consumed, as their columns belong to the row. */
  #step(place: Place): { readonly column: PathColumn } | Hop {
    let { names, plan } = place;
    let properties: Readonly<Record<string, EntityProperty | undefined>> | null = null;
    for (;;) {
      const { fields } = readable(plan, names);
      const field = fields[0] as (typeof fields)[number];
      const property = properties ? properties[field.property] : field.metadata;
      if (!property) throw new NotCompilable(`"${field.name}" has no column`);
      if (field.kind === 'scalar') return { column: this.#column(property, place, field.name) };
      if (field.kind !== 'embedded') {
        if (properties) throw new NotCompilable(`"${field.name}" is an association of an embedded object`);
        const rest = names.slice(1);
        return this.#foreignKey(field, rest, place) ?? { field, rest };
      }
      if (property.object || property.array || field.plan.variants.size !== 1)
        throw new NotCompilable(`"${field.name}" is stored as JSON, and has no columns`);
      properties = property.embeddedProps as never;
      plan = field.plan;
      names = names.slice(1);
    }
  }

  /** Takes the key of an associated row from the foreign key, without a join. Null unless everybody sees the associated rows. */
  #foreignKey({ kind, metadata, plan }: AssociationField, rest: readonly string[], place: Place): { column: PathColumn } | null {
    const target = metadata.targetMeta;
    const column = foreignKey(this.#mapper, metadata);
    if (kind !== 'to-one' || rest.length !== 1 || !target || column === null) return null;
    const { conditions } = associatedRows(this.#mapper, metadata, { owner: place.meta, target }, '', '');
    if (this.#isHiding(target) || conditions.length > 0) return null;
    refuseFiltered(this.#mapper, metadata);
    const { field } = readable(plan, rest);
    if (!field.metadata.primary || field.kind !== 'scalar' || isComposite(target)) return null;
    const sql = [...place.alias, `.${column}`];
    return { column: { property: field.metadata, kind: this.#kindOf(field.metadata, target), sql } };
  }

  #column(property: EntityProperty, { alias, meta }: Place, name: string): PathColumn {
    if (property.formula) throw new NotCompilable(`"${name}" is computed by the database`);
    if (property.fieldNames?.length !== 1) throw new NotCompilable(`"${name}" is not a single column`);
    return { property, kind: this.#kindOf(property, meta), sql: [...alias, `.${columnOf(this.#mapper, property)}`] };
  }

  /** A discriminator can only have the values of the classes that a row can have. */
  #kindOf(property: EntityProperty, meta: EntityMetadata): ValueKind {
    if (property.name !== discriminatorProperty(meta)) return valueKindOf(property, this.#mapper.driver.getPlatform());
    return {
      kind: 'enum',
      items: concreteClasses(this.#mapper, meta).map(({ discriminatorValue }) => discriminatorValue as string | number),
    };
  }

  #through({ field: { metadata: property, name, plan }, rest }: Hop, place: Place): FilterPath {
    refuseFiltered(this.#mapper, property);
    const targets = targetsOf(property).map((target) => {
      const variants = new Map([...plan.variants].filter(([concrete]) => isKindOf(concrete, target)));
      const through = [...place.through, name];
      const alias = this.#aliasOf(through);
      const inner =
        rest.length === 0 ? null : this.follow({ plan: { variants }, names: rest, meta: target, alias: [alias], through });
      return { ...this.#rowsOf(property, target, alias, place), inner };
    });
    const existing = (conditionOf: (inner: FilterPath) => Condition) =>
      anyOf(
        targets.map(({ condition, from, inner }) => [
          `exists (select 1 from ${from} where `,
          ...condition,
          ...(inner ? [' and ', ...conditionOf(inner)] : []),
          ')',
        ]),
      );
    const holds = (leaf: Leaf) => existing((inner) => inner.holds(leaf));
    const isMany = readable(place.plan, place.names).fields.some(({ kind }) => kind === 'to-many');
    return {
      column: targets.at(-1)?.inner?.column ?? null,
      isMany,
      own: null,
      joined: isMany ? null : joinedThrough(targets),
      holds,
      holdsNot: (leaf) => (isMany ? existing((inner) => inner.holdsNot(leaf)) : not(holds(leaf))),
      exists: holds(isNotNull),
    };
  }

  /** The associated rows of one class, and the condition that they belong to the row and that the caller sees them. */
  #rowsOf(property: EntityProperty, target: EntityMetadata, alias: string, { alias: owner, meta, through }: Place): Rows {
    const rows = associatedRows(this.#mapper, property, { owner: meta, target }, alias, `linked${through.length}`);
    const seen: ConditionPart[] = this.#isHiding(target) ? [' and ', { kind: 'seen', meta: target, alias }] : [];
    const conditions = rows.conditions.map((condition) => ` and ${condition}`);
    return { from: rows.from, condition: [...belongsTo(rows, owner), ...conditions, ...seen] };
  }
}

interface Hop {
  readonly field: AssociationField;
  readonly rest: readonly string[];
}

interface Rows {
  readonly from: string;
  readonly condition: Condition;
}

function joinedThrough([first, ...others]: readonly (Rows & { readonly inner: FilterPath | null })[]): JoinedColumn | null {
  const inner = first?.inner?.joined;
  if (!first || !inner || others.length > 0) return null;
  return { joins: [[` left join ${first.from} on `, ...first.condition], ...inner.joins], sql: inner.sql };
}

const isNotNull: Leaf = ({ sql }) => [...sql, ' is not null'];

function readable(plan: FieldPlan, names: readonly string[]) {
  const found = readableField(plan, names.join('.'));
  if (!found) throw new NotCompilable(`"${names.join('.')}" cannot be read`);
  if (!found.isStored) throw new NotCompilable(`"${names.join('.')}" is not returned as the database stores it`);
  return found;
}

/** Rejects classes with a filter that is on by default: MikroORM would apply it, a compiled condition would not. */
function refuseFiltered(mapper: Mapper, property: EntityProperty): void {
  const filtered = targetsOf(property)
    .flatMap((target) => [target, ...concreteClasses(mapper, target)])
    .find(isFiltered);
  if (filtered)
    throw new NotCompilable(`"${jsonName(property)}" leads to ${filtered.className}, which has a filter that is on by default`);
}
