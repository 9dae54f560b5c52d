import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isSetOnce, type WritableField, type WritePlan } from '../change/write-plan.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Field, FieldPlan } from '../model/field-plan.ts';
import { inGroups } from '../model/groups.ts';
import { concreteClasses } from '../model/hierarchy.ts';
import type { Places } from './places.ts';

/** A field that can go out or come in, at its place in the JSON of one row. */
export interface FieldAccess {
  /** As it stands in JSON: `center.name`, `participations[].person`. */
  readonly path: string;
  /** The same, with the class of the row wherever rows of several can stand: `requestor.Person:firstName`. */
  readonly label: string;
  /** `value`; `object` and `list` have fields of their own; a `reference` says which row is meant, and takes nothing else. */
  readonly kind: 'value' | 'object' | 'list' | 'reference';
  /** What a reference can name, by class; empty for everything else. */
  readonly references: readonly string[];
  /** The code of the application that reads or makes the value, which can be anything then; null where there is none. */
  readonly madeBy: string | null;
  /** The active groups that the field is in. */
  readonly groups: readonly string[];
  /** The class of the row that has the field. */
  readonly model: string;
  readonly property: string;
  /** Where the field is declared. */
  readonly place: string;
}

/** What the fields of a plan are described with. */
export interface Describing {
  readonly mapper: Mapper;
  readonly places: Places;
  readonly groups: readonly string[];
  /** The name of the denormalizer that reads an association, where there is one. */
  readonly denormalizerOf: (owner: EntityMetadata, property: string) => string | null;
}

interface At {
  readonly path: string;
  readonly label: string;
}

const top: At = { path: '', label: '' };

/** Every field that a plan lets out, those of embedded rows after the field that embeds them. */
export function readableFields({ variants }: FieldPlan, describing: Describing): readonly FieldAccess[] {
  return fieldsBelow(variants, top, describing);
}

function fieldsBelow(variants: FieldPlan['variants'], at: At, describing: Describing): FieldAccess[] {
  return [...variants].flatMap(([meta, fields]) =>
    fields.flatMap((field) => readable(field, meta, below(at, field.name, variants.size > 1 ? meta : null), describing)),
  );
}

function readable(field: Field, meta: EntityMetadata, at: At, describing: Describing): FieldAccess[] {
  if (field.kind === 'scalar') {
    const free = field.computed || field.value.kind === 'any' || field.value.kind === 'json';
    return [described(field, meta, at, 'value', describing, { madeBy: ownSerializer(field.metadata, meta, free) })];
  }
  const many = field.kind === 'embedded' ? field.array : field.kind === 'to-many';
  const here = many ? listed(at) : at;
  const own = ownSerializer(field.metadata, meta, false);
  // what a serializer of the model's own makes of it has no fields that anybody knows
  if (own !== null) return [described(field, meta, at, 'value', describing, { madeBy: own })];
  return [
    described(field, meta, here, many ? 'list' : 'object', describing),
    ...fieldsBelow(field.plan.variants, here, describing),
  ];
}

/** The code of the model that decides what a value is. */
function ownSerializer(metadata: EntityProperty, meta: EntityMetadata, free: boolean): string | null {
  return free || metadata.serializer ? `${meta.className}.${metadata.name as string}` : null;
}

/** Every field that a body may hold, for a class or for each of several; a key is set once, when the row is made. */
export function writableFields(plans: readonly WritePlan[], creates: boolean, describing: Describing): readonly FieldAccess[] {
  return plans.flatMap(({ meta, fields }) =>
    [...fields.values()]
      .filter((field) => creates || !isSetOnce(field))
      .flatMap((field) => writable(field, meta, below(top, field.name, plans.length > 1 ? meta : null), describing)),
  );
}

function writable(field: WritableField, meta: EntityMetadata, at: At, describing: Describing): FieldAccess[] {
  switch (field.kind) {
    case 'scalar':
      return [described(field, meta, at, 'value', describing)];
    case 'embedded': {
      const here = field.array ? listed(at) : at;
      return [
        described(field, meta, here, field.array ? 'list' : 'object', describing),
        ...field.plans.flatMap((plan) =>
          [...plan.fields.values()].flatMap((inner) =>
            writable(inner, plan.meta, below(here, inner.name, field.plans.length > 1 ? plan.meta : null), describing),
          ),
        ),
      ];
    }
    default: {
      const here = field.kind === 'to-many' ? listed(at) : at;
      return [
        described(field, meta, here, 'reference', describing, {
          references: classesOf(describing.mapper, field.targets),
          madeBy: describing.denormalizerOf(meta, field.property),
        }),
      ];
    }
  }
}

/** The body of an action that adds to or removes from an association: it says which row is meant. */
export function itemReference(
  owner: EntityMetadata,
  property: string,
  targets: readonly EntityMetadata[],
  { denormalizerOf, mapper, places }: Describing,
): FieldAccess {
  return Object.freeze({
    path: '',
    label: '',
    kind: 'reference',
    references: classesOf(mapper, targets),
    madeBy: denormalizerOf(owner, property),
    groups: [],
    model: owner.className,
    property,
    place: places.ofProperty(owner, property),
  });
}

/** The names of every class that a row of one of the targets can be. */
function classesOf(mapper: Mapper, targets: readonly EntityMetadata[]): readonly string[] {
  return [...new Set(targets.flatMap((target) => concreteClasses(mapper, target).map(({ className }) => className)))].sort();
}

function described(
  { property, metadata }: { readonly property: string; readonly metadata: EntityProperty },
  meta: EntityMetadata,
  { path, label }: At,
  kind: FieldAccess['kind'],
  { places, groups }: Describing,
  { references = [], madeBy = null }: Partial<Pick<FieldAccess, 'references' | 'madeBy'>> = {},
): FieldAccess {
  return Object.freeze({
    path,
    label,
    kind,
    references,
    madeBy,
    groups: groups.filter((group) => inGroups(metadata, [group])),
    model: meta.className,
    property,
    place: places.ofProperty(meta, property),
  });
}

function below({ path, label }: At, name: string, variant: EntityMetadata | null): At {
  const own = variant ? `${variant.className}:${name}` : name;
  return path === '' ? { path: name, label: own } : { path: `${path}.${name}`, label: `${label}.${own}` };
}

function listed({ path, label }: At): At {
  return { path: `${path}[]`, label: `${label}[]` };
}
