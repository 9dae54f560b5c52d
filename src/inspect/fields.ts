import type { EntityMetadata } from '@mikro-orm/core';
import { isSetOnce, planWrites, type WritableField } from '../change/write-plan.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Field, FieldPlan } from '../model/field-plan.ts';
import { readGroups } from '../model/groups.ts';
import { concreteClasses } from '../model/hierarchy.ts';

/** A readable or writable field, with its path in the JSON of one row. */
export interface PlannedField {
  /** The path in JSON: `center.name`, `participations[].person`. */
  readonly path: string;
  /** The path, with the class of the row if rows can have several: `requestor.Person:firstName`. */
  readonly label: string;
  /** `object` and `list` have fields of their own; a `reference` names a row. */
  readonly kind: 'value' | 'object' | 'list' | 'reference';
  /** The class of the row that has the field. */
  readonly meta: EntityMetadata;
  readonly property: string;
  /** Whether it is in a row that another one embeds. */
  readonly isEmbedded: boolean;
  /** The classes that a reference can name. */
  readonly targets: readonly EntityMetadata[];
  /** The application code that makes the value, which can then be anything; null without such code. */
  readonly madeBy: string | null;
}

type At = Pick<PlannedField, 'path' | 'label' | 'isEmbedded'>;
/** The fields of each class that a row can have. */
type Variants<F> = readonly (readonly [EntityMetadata, Iterable<F>])[];

/** One field of a plan. `many`: it is a list. `inside`: the fields of the rows or objects in it. */
type Planned<F> = Pick<PlannedField, 'kind'> &
  Partial<Pick<PlannedField, 'targets' | 'madeBy'>> & { readonly many?: boolean; readonly inside?: Variants<F> };

/** Every field of a plan; the fields of embedded rows follow the field that embeds them. */
function walk<F extends Pick<Field, 'name' | 'property'>>(
  variants: Variants<F>,
  planned: (field: F, meta: EntityMetadata) => Planned<F>,
  { path, label, isEmbedded }: At = { path: '', label: '', isEmbedded: false },
): readonly PlannedField[] {
  const below = (parent: string, name: string) => (parent === '' ? name : `${parent}.${name}`);
  return variants.flatMap(([meta, fields]) =>
    [...fields].flatMap((field) => {
      const { kind, many, inside = [], targets = [], madeBy = null } = planned(field, meta);
      const name = many ? `${field.name}[]` : field.name;
      const at = { path: below(path, name), label: below(label, variants.length > 1 ? `${meta.className}:${name}` : name) };
      // an embeddable is a part of its row
      const inRows = isEmbedded || inside.some(([target]) => !target.embeddable);
      return [
        { ...at, isEmbedded, kind, meta, property: field.property, targets, madeBy },
        ...walk(inside, planned, { ...at, isEmbedded: inRows }),
      ];
    }),
  );
}

/** Every readable field of a plan. */
export function readableFields({ variants }: FieldPlan): readonly PlannedField[] {
  return walk<Field>([...variants], (field, meta) => {
    const isFree = field.kind === 'scalar' && (field.computed || field.value.kind === 'any' || field.value.kind === 'json');
    const own = isFree || field.metadata.serializer ? `${meta.className}.${field.property}` : null;
    const madeBy = field.normalization?.by ?? normalizerOf(field) ?? own;
    // the fields in the result of a serializer are unknown
    if (field.kind === 'scalar' || madeBy !== null) return { kind: 'value', madeBy };
    const many = field.kind === 'embedded' ? field.array : field.kind === 'to-many';
    return { kind: many ? 'list' : 'object', many, inside: [...field.plan.variants] };
  });
}

/** The normalizer of the rows that a field embeds. */
function normalizerOf(field: Field): string | null {
  const [first] = field.kind === 'scalar' ? [] : (field.plan.normalizations?.values() ?? []);
  return first?.by ?? null;
}

/** Every field that the body of a write may have; keys can be set only when the row is created. */
export function writableFields(
  mapper: Mapper,
  model: EntityMetadata,
  groups: readonly string[],
  creates: boolean,
): readonly PlannedField[] {
  const plans = concreteClasses(mapper, model).map((meta) => planWrites(mapper, meta, { read: readGroups, write: groups }));
  const variants = plans.map(
    ({ meta, fields }) => [meta, [...fields.values()].filter((field) => creates || !isSetOnce(field))] as const,
  );
  return walk<WritableField>(variants, (field) => {
    if (field.kind === 'scalar') return { kind: 'value' };
    if (field.kind !== 'embedded') return { kind: 'reference', many: field.kind === 'to-many', targets: field.targets };
    const inside = field.plans.map(({ meta, fields }) => [meta, fields.values()] as const);
    return { kind: field.array ? 'list' : 'object', many: field.array, inside };
  });
}

/** The paths of fields that contain no other field. */
export function innermostPaths(fields: readonly PlannedField[]): readonly string[] {
  // the contents of a field follow it
  const innermost = fields.filter(({ label }, index) => !fields[index + 1]?.label.startsWith(`${label}.`));
  return [...new Set(innermost.map(({ path }) => path))];
}

/** The paths of all values in JSON; for a collection, of its items. */
export function pathsIn(json: unknown): readonly string[] {
  const isCollection = isObject(json) && Array.isArray(json.results) && isObject(json.pagination);
  return [...new Set(pathsOf(isCollection ? (json.results as unknown[]) : [json].flat()))];
}

function pathsOf(values: readonly unknown[]): string[] {
  return values.filter(isObject).flatMap((value) =>
    Object.entries(value).flatMap(([key, inner]) => {
      const name = Array.isArray(inner) ? `${key}[]` : key;
      const paths = pathsOf([inner].flat());
      return paths.length === 0 ? [name] : paths.map((path) => `${name}.${path}`);
    }),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
