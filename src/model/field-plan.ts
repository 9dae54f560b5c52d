import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { inGroups } from './groups.ts';
import { concreteClasses, discriminatorProperty, sameLine } from './hierarchy.ts';
import { type ValueKind, valueKindOf } from './value-kind.ts';

/** One field of the JSON object that a model becomes. */
export type Field = ScalarField | EmbeddedField | AssociationField;

interface NamedField {
  /** The property of the model. */
  readonly property: string;
  /** The key in JSON: the property's name unless the model renames it. */
  readonly name: string;
  readonly metadata: EntityProperty;
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
  /** What can stand there. Each row takes the plan of its own class. */
  readonly plan: FieldPlan;
  /** Cut to references, because embedding would recurse. */
  readonly cut: boolean;
}

/** The exact tree of fields of a model for a set of groups, for every class that a row of it can be. */
export interface FieldPlan {
  readonly variants: ReadonlyMap<EntityMetadata, readonly Field[]>;
}

/** Makes the plan of what goes out for a model and a set of active groups. */
export function planFields(mapper: Mapper, meta: EntityMetadata, groups: readonly string[]): FieldPlan {
  return planAssociated(mapper, [meta], groups, []);
}

function planAssociated(
  mapper: Mapper,
  targets: readonly EntityMetadata[],
  groups: readonly string[],
  ancestors: readonly EntityMetadata[],
): FieldPlan {
  const variants = new Map<EntityMetadata, readonly Field[]>();
  for (const target of targets) {
    // by the association's own class, not by that of the row: rows of sister classes would otherwise lead on to each other
    const recursing = ancestors.some((ancestor) => sameLine(ancestor, target));
    for (const meta of concreteClasses(mapper, target)) {
      const properties = recursing ? identityProperties(meta) : ownProperties(meta);
      variants.set(meta, planProperties(mapper, properties, groups, [...ancestors, meta]));
    }
  }
  return { variants };
}

/** The fields of properties that are in the active groups, in the order of the model. */
export function planProperties(
  mapper: Mapper,
  properties: readonly EntityProperty[],
  groups: readonly string[],
  ancestors: readonly EntityMetadata[],
): readonly Field[] {
  return properties
    .filter((property) => inGroups(property, groups))
    .map((property) => planField(mapper, property, groups, ancestors));
}

function planField(
  mapper: Mapper,
  property: EntityProperty,
  groups: readonly string[],
  ancestors: readonly EntityMetadata[],
): Field {
  const named = { property: property.name as string, name: jsonName(property), metadata: property };
  switch (property.kind) {
    case ReferenceKind.SCALAR:
      return {
        ...named,
        kind: 'scalar',
        value: valueKindOf(property, mapper.driver.getPlatform()),
        computed: isComputed(property),
      };
    case ReferenceKind.EMBEDDED:
      return {
        ...named,
        kind: 'embedded',
        array: property.array === true,
        plan: planEmbedded(mapper, property, groups, ancestors),
      };
    default: {
      const targets = targetsOf(property);
      const many = property.kind === ReferenceKind.ONE_TO_MANY || property.kind === ReferenceKind.MANY_TO_MANY;
      return {
        ...named,
        kind: many ? 'to-many' : 'to-one',
        plan: planAssociated(mapper, targets, groups, ancestors),
        cut: targets.every((target) => ancestors.some((ancestor) => sameLine(ancestor, target))),
      };
    }
  }
}

function planEmbedded(
  mapper: Mapper,
  property: EntityProperty,
  groups: readonly string[],
  ancestors: readonly EntityMetadata[],
): FieldPlan {
  const variants = new Map<EntityMetadata, readonly Field[]>();
  for (const meta of embeddedTargets(mapper, property)) {
    // No embeddable can hold itself, the mapper refuses it; one that comes again by way of an entity ends where that is cut.
    variants.set(meta, planProperties(mapper, ownProperties(meta), groups, ancestors));
  }
  return { variants };
}

/**
 * Whether an embedded object that may be null has parts that the plan does not show. Then it is shown as null if all that is shown of it
 * is null: otherwise callers could tell whether a hidden part is set.
 */
export function hidesParts({ array, metadata, plan }: EmbeddedField): boolean {
  if (metadata.nullable !== true || array) return false;
  return [...plan.variants].some(
    ([meta, fields]) =>
      fields.length > 0 &&
      ownProperties(meta).some((part) => part.persist !== false && !fields.some(({ metadata: shown }) => shown === part)),
  );
}

/** Whether all that is stored of the shown fields of an embedded object is null; `partOf` gives what it holds of a field. */
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

/** The models that an association can hold. */
export function targetsOf(property: EntityProperty): readonly EntityMetadata[] {
  if (property.polymorphTargets) return property.polymorphTargets;
  return property.targetMeta ? [property.targetMeta] : [];
}

/** The embeddables that a property can hold. */
export function embeddedTargets(mapper: Mapper, property: EntityProperty): readonly EntityMetadata[] {
  const polymorphic = property.targetMeta?.discriminatorMap;
  if (polymorphic) return Object.values(polymorphic).map((cls) => mapper.getMetadata().get(cls));
  return property.targetMeta ? [property.targetMeta] : [];
}

/**
 * The properties of a class itself, without columns of embeddables and without what only its subclasses have: those the mapper
 * gives to the class at the root of a table, and marks as inherited there.
 */
export function ownProperties(meta: EntityMetadata): EntityProperty[] {
  return (Object.values(meta.properties) as EntityProperty[]).filter((property) => !property.embedded && !property.inherited);
}

function identityProperties(meta: EntityMetadata): EntityProperty[] {
  const names: readonly (string | null)[] = [...(meta.primaryKeys as string[]), discriminatorProperty(meta)];
  return ownProperties(meta).filter((property) => names.includes(property.name as string));
}

function isComputed(property: EntityProperty): boolean {
  return property.persist === false && !property.formula;
}

/** The key of the discriminator in JSON, where the model has one. */
export function discriminatorKey(meta: EntityMetadata): string | null {
  const property = discriminatorProperty(meta);
  const metadata = property === null ? undefined : (meta.properties[property as never] as EntityProperty | undefined);
  return metadata ? jsonName(metadata) : property;
}

/** The key of a property in JSON. */
export function jsonName(property: EntityProperty): string {
  return property.serializedName ?? (property.name as string);
}
