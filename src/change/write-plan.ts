import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import {
  discriminatorKey,
  embeddedTargets,
  isToMany,
  jsonName,
  ownProperties,
  type Planning,
  targetsOf,
} from '../model/field-plan.ts';
import { type ActiveGroups, inGroups } from '../model/groups.ts';
import { discriminatorProperty } from '../model/hierarchy.ts';
import { type IdentifierParser, identifierParser, isComposite, type NamedKeyPart, namedKeyParts } from '../model/identifier.ts';
import { valueKindOf } from '../model/value-kind.ts';
import type { Parsed } from '../serialization/from-json.ts';
import { fromJson } from '../serialization/kind-conversions.ts';

export type WritableField = ScalarWrite | EmbeddedWrite | AssociationWrite;

interface NamedWrite {
  readonly name: string;
  readonly property: string;
  readonly metadata: EntityProperty;
  readonly nullable: boolean;
  /** A new row needs a value for it. */
  readonly required: boolean;
  /** The caller lacks a role to see it: PUT of a body that the caller has read must not change it. */
  readonly unseen: boolean;
  /** The caller can see it. A field that nobody can see is neither shown nor unseen. */
  readonly shown: boolean;
}

export interface ScalarWrite extends NamedWrite {
  readonly kind: 'scalar';
  readonly parse: (json: unknown) => Parsed;
  /** Objects in it are merged by PATCH. */
  readonly merges: boolean;
  /** It has a custom type of the application, whose values the mapper's checks would reject. */
  readonly custom: boolean;
}

export interface EmbeddedWrite extends NamedWrite {
  readonly kind: 'embedded';
  readonly array: boolean;
  /** The plan of each possible embeddable; if there are several, the discriminator value chooses one. */
  readonly plans: readonly EmbeddedPlan[];
}

export interface EmbeddedPlan {
  readonly meta: EntityMetadata;
  readonly discriminator: {
    /** In JSON. */
    readonly key: string;
    readonly property: string;
    readonly value: string | number;
  } | null;
  readonly fields: ReadonlyMap<string, WritableField>;
}

export interface AssociationWrite extends NamedWrite {
  readonly kind: 'to-one' | 'to-many';
  readonly targets: readonly EntityMetadata[];
}

/** The fields of a class that a body may contain, for a set of groups. */
export interface WritePlan {
  readonly meta: EntityMetadata;
  readonly fields: ReadonlyMap<string, WritableField>;
  /** Fields that the caller can see but not set. */
  readonly visible: ReadonlySet<string>;
  readonly typeKey: string;
  /** Whether callers can read the class of a row, or the model has only one. */
  readonly showsType: boolean;
  /** Whether the caller lacks a role to read the class of a row. */
  readonly hidesType: boolean;
  readonly idKey: string;
  readonly parseId: IdentifierParser;
  /** The parts of a composite key. */
  readonly keyParts: readonly NamedKeyPart[];
}

/** The groups of the fields that a caller can write, can see, and cannot see for lack of a role. */
export type WritingGroups = Pick<ActiveGroups, 'read' | 'write' | 'withheld'>;

interface WritePlanning extends Planning {
  isUnseen(property: EntityProperty): boolean;
  isShown(property: EntityProperty): boolean;
}

/** Plans which fields of a class a body may contain. */
export function planWrites(mapper: Mapper, meta: EntityMetadata, { read, withheld = [], write }: WritingGroups): WritePlan {
  const isShown = (property: EntityProperty) => inGroups(property, read);
  const isUnseen = (property: EntityProperty) => inGroups(property, withheld) && !isShown(property);
  const properties = ownProperties(meta);
  const discriminator = discriminatorProperty(meta);
  const writable = properties.filter((property) => property.name !== discriminator);
  return {
    meta,
    fields: planFields(writable, { mapper, groups: write, ancestors: [meta], isShown, isUnseen }),
    visible: new Set(properties.filter((property) => inGroups(property, read)).map(jsonName)),
    hidesType: discriminator !== null && isUnseen(meta.properties[discriminator as never] as EntityProperty),
    showsType: !discriminator || inGroups(meta.properties[discriminator as never] as EntityProperty, read),
    typeKey: discriminatorKey(meta) ?? 'type',
    idKey: isComposite(meta) ? 'id' : jsonName(meta.getPrimaryProp()),
    parseId: identifierParser(meta, mapper.driver.getPlatform(), 'json'),
    keyParts: namedKeyParts(meta, mapper.driver.getPlatform()),
  };
}

function planFields(properties: readonly EntityProperty[], planning: WritePlanning): ReadonlyMap<string, WritableField> {
  const fields = properties
    .filter((property) => inGroups(property, planning.groups) && !isComputed(property))
    .map((property) => planField(property, planning));
  return new Map(fields.map((field) => [field.name, field]));
}

function planField(property: EntityProperty, planning: WritePlanning): WritableField {
  const named = {
    name: jsonName(property),
    property: property.name as string,
    metadata: property,
    nullable: property.nullable === true,
    required: isRequired(property, planning.ancestors.at(-1)),
    unseen: planning.isUnseen(property),
    shown: planning.isShown(property),
  };
  switch (property.kind) {
    case ReferenceKind.SCALAR: {
      const kind = valueKindOf(property, planning.mapper.driver.getPlatform());
      return { ...named, kind: 'scalar', parse: fromJson(kind), merges: kind.kind === 'json', custom: kind.kind === 'custom' };
    }
    case ReferenceKind.EMBEDDED:
      return { ...named, kind: 'embedded', array: property.array === true, plans: planEmbedded(property, planning) };
    case ReferenceKind.MANY_TO_ONE:
    case ReferenceKind.ONE_TO_ONE:
      return { ...named, kind: 'to-one', targets: targetsOf(property) };
    default:
      return { ...named, kind: 'to-many', targets: targetsOf(property), nullable: false, required: false };
  }
}

function planEmbedded(embedded: EntityProperty, planning: WritePlanning): readonly EmbeddedPlan[] {
  const { mapper, ancestors } = planning;
  return embeddedTargets(mapper, embedded).map((meta) => {
    const { discriminatorValue: value } = meta;
    const property = discriminatorProperty(meta);
    const own = ownProperties(meta).filter((candidate) => candidate.name !== property);
    return {
      meta,
      discriminator: property && value !== undefined ? { key: discriminatorKey(meta) ?? property, property, value } : null,
      fields: ancestors.includes(meta) ? new Map() : planFields(own, { ...planning, ancestors: [...ancestors, meta] }),
    };
  });
}

/** Whether the database computes the value. Whatever its groups are, a body cannot set it. */
function isComputed({ formula, generated, version }: EntityProperty): boolean {
  return formula !== undefined || generated !== undefined || version === true;
}

/** Whether a body can set the field only in a new row: a row keeps its key. */
export function isSetOnce({ metadata }: WritableField): boolean {
  return metadata.primary === true;
}

/** Whether a new row needs a value for the property from outside: the column is not nullable, and nothing else fills it. */
export function isRequired(property: EntityProperty, owner?: EntityMetadata): boolean {
  return (
    property.nullable !== true &&
    property.persist !== false &&
    property.default === undefined &&
    property.defaultRaw === undefined &&
    property.onCreate === undefined &&
    !isCounted(property, owner) &&
    property.version !== true &&
    property.generated === undefined &&
    property.formula === undefined &&
    property.optional !== true &&
    !isToMany(property) &&
    !(property.kind === ReferenceKind.ONE_TO_ONE && !property.owner)
  );
}

/** Whether the property is a key that the database counts up by itself. */
function isCounted(property: EntityProperty, owner?: EntityMetadata): boolean {
  if (property.autoincrement === true) return true;
  if (owner && !owner.embeddable && isComposite(owner)) return false;
  return property.primary === true && property.autoincrement !== false && ['number', 'bigint'].includes(property.runtimeType);
}
