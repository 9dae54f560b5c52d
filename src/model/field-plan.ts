import { type EntityMetadata, type EntityProperty, EntitySchema, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { inGroups } from './groups.ts';
import { concreteClasses, discriminatorProperty, sameLine } from './hierarchy.ts';
import { combined, type Normalization, normalizationOf } from './normalization.ts';
import { type ValueKind, valueKindOf } from './value-kind.ts';

/** One field of the JSON object that a model becomes. */
export type Field = ScalarField | EmbeddedField | AssociationField;

interface NamedField {
  readonly property: string;
  /** The key in JSON: the property's name unless the model renames it. */
  readonly name: string;
  readonly metadata: EntityProperty;
  /** Replaces the field in responses; null: the field itself is sent. */
  readonly normalization: Normalization | null;
}

export interface ScalarField extends NamedField {
  readonly kind: 'scalar';
  readonly value: ValueKind;
  /** Computed by the model's own code: its value can be anything. */
  readonly computed: boolean;
}

export interface EmbeddedField extends NamedField {
  readonly kind: 'embedded';
  readonly array: boolean;
  readonly plan: FieldPlan;
}

export interface AssociationField extends NamedField {
  readonly kind: 'to-one' | 'to-many';
  /** The fields of every class that the association can hold. Each row uses those of its own class. */
  readonly plan: FieldPlan;
  /** Cut to references, because embedding would recurse. */
  readonly cut: boolean;
}

/** The exact tree of fields of a model for a set of groups, for every class that its rows can have. */
export interface FieldPlan {
  readonly variants: ReadonlyMap<EntityMetadata, readonly Field[]>;
  /** Replacements for the rows of a class in responses. */
  readonly normalizations?: ReadonlyMap<EntityMetadata, Normalization>;
}

/** The context of a plan: the active groups, and the classes that are already embedded above it. */
export interface Planning {
  readonly mapper: Mapper;
  readonly groups: readonly string[];
  /** The active groups of associated rows, if they differ. */
  readonly embedded?: readonly string[];
  readonly ancestors: readonly EntityMetadata[];
}

/** Makes the plan of the JSON of a model for a set of active groups. `embedded` are those of associated rows. */
export function planFields(
  mapper: Mapper,
  meta: EntityMetadata,
  groups: readonly string[],
  embedded: readonly string[] = groups,
): FieldPlan {
  return planAssociated([meta], { mapper, groups, embedded, ancestors: [] });
}

function planAssociated(targets: readonly EntityMetadata[], planning: Planning): FieldPlan {
  const { mapper, ancestors } = planning;
  const variants = new Map<EntityMetadata, readonly Field[]>();
  const normalizations = new Map<EntityMetadata, Normalization>();
  for (const target of targets) {
    // decided by the association's class and not by the row's, otherwise rows of sibling classes would embed each other in turn
    const recursing = ancestors.some((ancestor) => sameLine(ancestor, target));
    for (const meta of concreteClasses(mapper, target)) {
      const properties = recursing ? identityProperties(meta) : ownProperties(meta);
      variants.set(meta, planProperties(meta, properties, { ...planning, ancestors: [...ancestors, meta] }));
      const normalization = recursing ? null : normalizationOf(mapper, meta);
      if (normalization) normalizations.set(meta, normalization);
    }
  }
  return normalizations.size > 0 ? { variants, normalizations } : { variants };
}

/** The fields of properties that are in the active groups, in the order of the model. */
export function planProperties(
  owner: EntityMetadata,
  properties: readonly EntityProperty[],
  planning: Planning,
): readonly Field[] {
  return properties
    .filter((property) => inGroups(property, planning.groups))
    .map((property) => planField(owner, property, planning));
}

function planField(owner: EntityMetadata, property: EntityProperty, planning: Planning): Field {
  const { mapper, ancestors } = planning;
  const normalization = normalizationOf(mapper, owner, property.name as string);
  const named = { property: property.name as string, name: jsonName(property), metadata: property, normalization };
  switch (property.kind) {
    case ReferenceKind.SCALAR: {
      const computed = property.persist === false && !property.formula;
      return { ...named, kind: 'scalar', value: valueKindOf(property, mapper.driver.getPlatform()), computed };
    }
    case ReferenceKind.EMBEDDED: {
      // MikroORM rejects an embeddable that contains itself. One that recurs through an entity ends where the entity is cut.
      const variants = embeddedTargets(mapper, property).map(
        (meta) => [meta, planProperties(meta, ownProperties(meta), planning)] as const,
      );
      const array = property.array === true;
      const ofObject = property.targetMeta ? normalizationOf(mapper, property.targetMeta) : null;
      const plan = { variants: new Map(variants) };
      return { ...named, normalization: combined(ofObject, normalization, array), kind: 'embedded', array, plan };
    }
    default: {
      const targets = targetsOf(property);
      const plan = planAssociated(targets, { ...planning, groups: planning.embedded ?? planning.groups });
      const cut = targets.every((target) => ancestors.some((ancestor) => sameLine(ancestor, target)));
      return { ...named, kind: isToMany(property) ? 'to-many' : 'to-one', plan, cut };
    }
  }
}

/** Whether a normalizer replaces a part of a plan. */
export function isNormalized({ normalizations, variants }: FieldPlan): boolean {
  if (normalizations) return true;
  return [...variants.values()].some((fields) =>
    fields.some((field) => field.normalization !== null || (field.kind !== 'scalar' && isNormalized(field.plan))),
  );
}

/**
 * Whether a nullable embedded object has parts that the plan does not show. Such an object is shown as null if all its shown
 * parts are null: otherwise callers could find out whether a hidden part is set.
 */
export function hidesParts({ array, metadata, plan }: EmbeddedField): boolean {
  if (metadata.nullable !== true || array) return false;
  return [...plan.variants].some(([meta, fields]) =>
    ownProperties(meta).some((part) => part.persist !== false && !fields.some(({ metadata: shown }) => shown === part)),
  );
}

/** Whether all stored values of the shown fields of an embedded object are null; `partOf` reads the value of a field. */
export function isBlank(
  fields: readonly Field[],
  embedded: object,
  partOf: (embedded: object, field: Field) => unknown,
): boolean {
  return fields.every((field) => {
    if (field.kind === 'scalar' && field.computed) return true;
    const value = partOf(embedded, field) ?? null;
    if (value === null || field.kind !== 'embedded' || field.array) return value === null;
    return [...field.plan.variants.values()].some((inner) => isBlank(inner, value as object, partOf));
  });
}

export function isToMany({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY;
}

/** Whether two plans show the same fields. The plan of one class can be cut at a place where that of another is not. */
export function isSamePlan(one: FieldPlan, other: FieldPlan): boolean {
  if (one.variants.size !== other.variants.size) return false;
  return [...one.variants].every(([meta, fields]) => {
    const others = other.variants.get(meta);
    return others?.length === fields.length && fields.every((field, i) => isSameField(field, others[i] as Field));
  });
}

function isSameField(one: Field, other: Field): boolean {
  if (one.metadata !== other.metadata) return false;
  // fields of one property are of the same kind
  return one.kind === 'scalar' || isSamePlan(one.plan, (other as typeof one).plan);
}

/** The models that an association can hold. */
export function targetsOf(property: EntityProperty): readonly EntityMetadata[] {
  if (property.polymorphTargets) return inDeclaredOrder(property, property.polymorphTargets);
  return property.targetMeta ? [property.targetMeta] : [];
}

/** MikroORM keeps the targets of a property in the order in which it discovered the classes. */
function inDeclaredOrder({ target }: EntityProperty, targets: readonly EntityMetadata[]): readonly EntityMetadata[] {
  const declared = [target as unknown].flat().map((type) => (EntitySchema.is(type) ? type.meta.class : type));
  return targets.toSorted((a, b) => declared.indexOf(a.class) - declared.indexOf(b.class));
}

export function embeddedTargets(mapper: Mapper, property: EntityProperty): readonly EntityMetadata[] {
  const polymorphic = property.targetMeta?.discriminatorMap;
  if (polymorphic) return Object.values(polymorphic).map((cls) => mapper.getMetadata().get(cls));
  return property.targetMeta ? [property.targetMeta] : [];
}

/**
 * The properties of a class itself, without columns of embeddables and without properties of its subclasses. MikroORM adds the
 * latter to the root class of a table, and marks them as inherited there.
 */
export function ownProperties(meta: EntityMetadata): EntityProperty[] {
  return (Object.values(meta.properties) as EntityProperty[]).filter((property) => !property.embedded && !property.inherited);
}

function identityProperties(meta: EntityMetadata): EntityProperty[] {
  const names: readonly (string | null)[] = [...(meta.primaryKeys as string[]), discriminatorProperty(meta)];
  return ownProperties(meta).filter((property) => names.includes(property.name as string));
}

/** The key of the discriminator in JSON, if the model has one. */
export function discriminatorKey(meta: EntityMetadata): string | null {
  const property = discriminatorProperty(meta);
  const metadata = property === null ? undefined : (meta.properties[property as never] as EntityProperty | undefined);
  return metadata ? jsonName(metadata) : property;
}

export function jsonName(property: EntityProperty): string {
  return property.serializedName ?? (property.name as string);
}
