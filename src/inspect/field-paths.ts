import { isSetOnce, type WritableField, type WritePlan } from '../change/write-plan.ts';
import type { FieldPlan } from '../model/field-plan.ts';

/** Every value that a plan lets out, by its place in the JSON of one row: `center.name`, `participations[].person.id`. */
export function readablePaths({ variants }: FieldPlan): readonly string[] {
  const paths = [...variants.values()].flat().flatMap((field) => {
    if (field.kind === 'scalar') return [field.name];
    const many = field.kind === 'embedded' ? field.array : field.kind === 'to-many';
    return below(many ? `${field.name}[]` : field.name, readablePaths(field.plan));
  });
  return [...new Set(paths)];
}

/** Every field that a body may hold for one of several classes; a key is set once, when the row is made. */
export function writablePaths(plans: readonly WritePlan[], creates: boolean): readonly string[] {
  const paths = plans.flatMap(({ fields }) =>
    [...fields.values()].filter((field) => creates || !isSetOnce(field)).flatMap(writable),
  );
  return [...new Set(paths)];
}

function writable(field: WritableField): string[] {
  if (field.kind === 'scalar') return [field.name];
  if (field.kind !== 'embedded') return [field.kind === 'to-many' ? `${field.name}[]` : field.name];
  const inner = field.plans.flatMap(({ fields }) => [...fields.values()].flatMap(writable));
  return below(field.array ? `${field.name}[]` : field.name, inner);
}

/** Every value that JSON holds. Of a list of the collection model, those of its items. */
export function pathsIn(json: unknown): readonly string[] {
  const isCollection = isObject(json) && Array.isArray(json.results) && isObject(json.pagination);
  return [...new Set(pathsOf(isCollection ? (json.results as unknown[]) : [json].flat()))];
}

function pathsOf(values: readonly unknown[]): string[] {
  return values.filter(isObject).flatMap((value) =>
    Object.entries(value).flatMap(([name, inner]) => {
      if (Array.isArray(inner)) return below(`${name}[]`, pathsOf(inner));
      return isObject(inner) ? below(name, pathsOf([inner])) : [name];
    }),
  );
}

/** What is below a name; the name itself where there is nothing. */
function below(name: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [name] : paths.map((path) => `${name}.${path}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
