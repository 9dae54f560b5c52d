import type { EntityMetadata } from '@mikro-orm/core';
import { isSetOnce, planWrites, type WritableField } from '../change/write-plan.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Field, FieldPlan } from '../model/field-plan.ts';
import { writeGroups } from '../model/groups.ts';
import { concreteClasses } from '../model/hierarchy.ts';

/** A field that can go out or come in, at its place in the JSON of one row. */
export interface PlannedField {
  /** As it stands in JSON: `center.name`, `participations[].person`. */
  readonly path: string;
  /** The same, with the class of the row wherever rows of several can stand: `requestor.Person:firstName`. */
  readonly label: string;
  /** `value`; `object` and `list` have fields of their own; a `reference` says which row is meant, and takes nothing else. */
  readonly kind: 'value' | 'object' | 'list' | 'reference';
  /** The class of the row that has the field. */
  readonly meta: EntityMetadata;
  readonly property: string;
  /** What a reference can name. */
  readonly targets: readonly EntityMetadata[];
  /** The code of the model that makes the value, which can be anything then; null where there is none. */
  readonly madeBy: string | null;
}

type At = Pick<PlannedField, 'path' | 'label'>;

const top: At = { path: '', label: '' };

/** Every field that a plan lets out, those of embedded rows after the field that embeds them. */
export function readableFields({ variants }: FieldPlan, at: At = top): readonly PlannedField[] {
  return [...variants].flatMap(([meta, fields]) =>
    fields.flatMap((field) => readable(field, meta, below(at, field.name, variants.size > 1 ? meta : null))),
  );
}

function readable(field: Field, meta: EntityMetadata, at: At): readonly PlannedField[] {
  const { metadata, property } = field;
  const isFree = field.kind === 'scalar' && (field.computed || field.value.kind === 'any' || field.value.kind === 'json');
  const madeBy = isFree || metadata.serializer ? `${meta.className}.${property}` : null;
  // what a serializer of the model's own makes of it has no fields that anybody knows
  if (field.kind === 'scalar' || madeBy !== null) return [{ ...at, kind: 'value', meta, property, targets: [], madeBy }];
  const many = field.kind === 'embedded' ? field.array : field.kind === 'to-many';
  const here = many ? listed(at) : at;
  return [{ ...here, kind: many ? 'list' : 'object', meta, property, targets: [], madeBy }, ...readableFields(field.plan, here)];
}

/** Every field that a body for a model may hold; a key is set once, when the row is made. */
export function writableFields(mapper: Mapper, model: EntityMetadata, creates: boolean): readonly PlannedField[] {
  const plans = concreteClasses(mapper, model).map((meta) => planWrites(mapper, meta, writeGroups));
  return writableBelow(plans, top, (field) => creates || !isSetOnce(field));
}

function writableBelow(
  plans: readonly { readonly meta: EntityMetadata; readonly fields: ReadonlyMap<string, WritableField> }[],
  at: At,
  isSettable: (field: WritableField) => boolean = () => true,
): readonly PlannedField[] {
  return plans.flatMap(({ meta, fields }) =>
    [...fields.values()]
      .filter(isSettable)
      .flatMap((field) => writable(field, meta, below(at, field.name, plans.length > 1 ? meta : null))),
  );
}

function writable(field: WritableField, meta: EntityMetadata, at: At): readonly PlannedField[] {
  const { property } = field;
  const own = { meta, property, targets: [], madeBy: null };
  if (field.kind === 'scalar') return [{ ...at, kind: 'value', ...own }];
  if (field.kind !== 'embedded') {
    const here = field.kind === 'to-many' ? listed(at) : at;
    return [{ ...here, kind: 'reference', ...own, targets: field.targets }];
  }
  const here = field.array ? listed(at) : at;
  return [{ ...here, kind: field.array ? 'list' : 'object', ...own }, ...writableBelow(field.plans, here)];
}

function below({ path, label }: At, name: string, variant: EntityMetadata | null): At {
  const own = variant ? `${variant.className}:${name}` : name;
  return path === '' ? { path: name, label: own } : { path: `${path}.${name}`, label: `${label}.${own}` };
}

function listed({ path, label }: At): At {
  return { path: `${path}[]`, label: `${label}[]` };
}

/** The paths of fields that no other field is in. */
export function innermostPaths(fields: readonly PlannedField[]): readonly string[] {
  // what is in a field comes right after it
  const innermost = fields.filter(({ label }, index) => !fields[index + 1]?.label.startsWith(`${label}.`));
  return [...new Set(innermost.map(({ path }) => path))];
}

/** Every value that JSON holds. Of a list of the collection model, those of its items. */
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
