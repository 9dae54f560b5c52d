import type { Mapper } from '../../database/mapper.ts';
import type { Field, FieldPlan } from '../../model/field-plan.ts';
import { planFields } from '../../model/field-plan.ts';
import { readGroups } from '../../model/groups.ts';
import { entitiesOf } from '../../model/hierarchy.ts';
import type { RouteAccess } from '../compare/matrix.ts';

/** The keys that an object may have, each with what may stand below it; null where a value can be anything. */
export type Shape = ReadonlyMap<string, Shape | null>;

type Growing = Map<string, Growing | null>;

const pagination: Shape = new Map(['more', 'next', 'previous', 'first', 'items_per_page'].map((key) => [key, null] as const));
const collectionKeys = ['count', 'count_is', 'pagination', 'results'];

/** The shape that paths such as `center.name` and `participations[].person` make together. A path that nothing goes on from is free. */
export function shapeOfPaths(paths: readonly string[]): Shape {
  const shape: Growing = new Map();
  for (const path of paths) {
    let here: Growing = shape;
    const keys = path.replaceAll('[]', '').split('.');
    for (const [depth, key] of keys.entries()) {
      const below: Growing | null = here.get(key) ?? (depth < keys.length - 1 ? new Map() : null);
      here.set(key, below);
      if (below) here = below;
    }
  }
  return shape;
}

/** What an answer of a route may hold: the fields that the matrix names. */
export function shapeOfRoute({ read }: RouteAccess): Shape {
  const objects = read.fields.filter(({ kind }) => kind !== 'value').map(({ path }) => path);
  const shape = shapeOfPaths(read.fields.map(({ path }) => path)) as Growing;
  // an object of which nothing may be seen is no value that can be anything
  for (const path of objects) closeAt(shape, path);
  return shape;
}

function closeAt(shape: Growing, path: string): void {
  const keys = path.replaceAll('[]', '').split('.');
  const last = keys.pop() as string;
  const owner = keys.reduce<Growing | null | undefined>((here, key) => here?.get(key), shape);
  if (owner && owner.get(last) === null) owner.set(last, new Map());
}

/** The shape of each model in the group `read`: what a handler of the application's own may answer with. */
export function shapesOfModels(mapper: Mapper): readonly Shape[] {
  return entitiesOf(mapper).map((meta) => shapeOfPlan(planFields(mapper, meta, readGroups)));
}

function shapeOfPlan({ variants }: FieldPlan): Shape {
  const shape: Growing = new Map();
  for (const fields of variants.values()) for (const field of fields) shape.set(field.name, shapeBelow(field));
  return shape;
}

function shapeBelow(field: Field): Growing | null {
  if (field.kind === 'scalar' || field.metadata.serializer) return null;
  return shapeOfPlan(field.plan) as Growing;
}

/** The paths in a value that are outside of a shape. */
export function outside(value: unknown, shape: Shape | null, at = ''): string[] {
  if (shape === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => outside(item, shape, at));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => {
    const path = at === '' ? key : `${at}.${key}`;
    const inner = shape.get(key);
    return inner === undefined ? [path] : outside(below, inner, path);
  });
}

/** What of an answer is outside of what a route may show, each path once. */
export function leaksOf(route: RouteAccess, body: unknown, shape: Shape, models: readonly Shape[], further: Shape): string[] {
  const { found, rows } = route.action === 'list' || isCollection(body) ? itemsOf(body) : { found: [], rows: body };
  const leaks = route.read.decidedBy === null ? outside(rows, shape) : outsideOfModels(rows, models, further);
  return [...new Set([...found, ...leaks])].sort();
}

const none: Shape = new Map();

/**
 * What a handler lets out. It can answer with any model, and what fits best is what is meant; what stands below a further key is
 * held to the same.
 */
function outsideOfModels(value: unknown, models: readonly Shape[], further: Shape, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => outsideOfModels(item, models, further, at));
  if (typeof value !== 'object' || value === null) return [];
  const trials = [none, ...models].map((shape) =>
    Object.entries(value).flatMap(([key, below]) => {
      const path = at === '' ? key : `${at}.${key}`;
      const inner = shape.get(key);
      if (inner !== undefined) return outside(below, inner, path);
      const told = further.get(key);
      return told === undefined ? [path] : outsideOfModels(below, models, told ?? none, path);
    }),
  );
  return trials.reduce((least, found) => (found.length < least.length ? found : least));
}

function isCollection(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'results' in body && 'pagination' in body;
}

function itemsOf(body: unknown): { readonly found: readonly string[]; readonly rows: unknown } {
  const { results, pagination: page, ...others } = (body ?? {}) as Record<string, unknown>;
  const unknown = Object.keys(others).filter((key) => !collectionKeys.includes(key));
  return { found: [...unknown, ...outside(page, pagination, 'pagination')], rows: results };
}
