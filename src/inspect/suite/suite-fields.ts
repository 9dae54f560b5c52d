import type { Mapper } from '../../database/mapper.ts';
import { planFields } from '../../model/field-plan.ts';
import { entitiesOf } from '../../model/hierarchy.ts';
import type { RouteAccess } from '../compare/matrix.ts';
import { type PlannedField, readableFields } from '../fields.ts';
import type { FieldAccess } from '../route-fields.ts';

/** The allowed keys of an object, each with the shape of its value; null allows any value. */
export type Shape = Map<string, Shape | null>;

const none: Shape = new Map();
const pagination = ['more', 'next', 'previous', 'first', 'items_per_page'].map((key) => `pagination.${key}`);
/** A result of aggregates without parameters. */
const counted = shapeOfPaths(['count']);
const collection = shapeOfPaths(['count', 'count_is', 'results', ...pagination]);

/** The shape of paths such as `center.name` and `participations[].person`. The end of a path allows any value. */
export function shapeOfPaths(paths: readonly string[]): Shape {
  return shapeOf(paths.map((path) => ({ path, kind: 'value' })));
}

/** The allowed response of a route: the fields in the matrix that the caller gets. Aggregates without `by` and `of` have a count. */
export function shapeOfRoute({ action, read }: RouteAccess, fields: readonly FieldAccess[] = read.fields): Shape {
  return action === 'aggregate' ? shapeOfPaths(['count']) : shapeOf(fields);
}

/** The shape of each model in some groups: custom handlers may respond with any of them. */
export function shapesOfModels(mapper: Mapper, groups: readonly string[]): readonly Shape[] {
  return entitiesOf(mapper).map((meta) => {
    const plan = planFields(mapper, meta, groups);
    const made = [...(plan.normalizations?.values() ?? [])].map(({ schema }) => schema.properties as object | undefined);
    return plan.normalizations
      ? shapeOfPaths(made.flatMap((properties) => Object.keys(properties ?? {})))
      : shapeOf(readableFields(plan));
  });
}

/** An object without readable fields allows no keys; it does not allow any value. */
function shapeOf(fields: readonly Pick<PlannedField, 'path' | 'kind'>[]): Shape {
  const shape: Shape = new Map();
  for (const { path, kind } of fields) {
    let here = shape;
    const keys = path.replaceAll('[]', '').split('.');
    for (const [depth, key] of keys.entries()) {
      const isFree = kind === 'value' && depth === keys.length - 1;
      const below: Shape | null = here.get(key) ?? (isFree ? null : new Map());
      here.set(key, below);
      if (below) here = below;
    }
  }
  return shape;
}

/** The paths in a value that are outside of a shape. */
export function outside(value: unknown, shape: Shape | null, at = ''): string[] {
  if (shape === null) return [];
  return eachKey(value, at, (key, below, path) => {
    const inner = shape.get(key);
    return inner === undefined ? [path] : outside(below, inner, path);
  });
}

/** The results of `find` for every key of an object, or of the objects in a list. */
function eachKey(value: unknown, at: string, find: (key: string, below: unknown, path: string) => string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => eachKey(item, at, find));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => find(key, below, at === '' ? key : `${at}.${key}`));
}

/** The paths in a response that its route may not show, each once. */
export function leaksOf(route: RouteAccess, body: unknown, shape: Shape, models: readonly Shape[], further: Shape): string[] {
  const isList = route.action === 'list' || isCollection(body);
  const found = isList ? outside(body, collection) : [];
  const rows = isList ? (body as { results?: unknown } | null)?.results : body;
  const allowed = route.action === 'aggregate' ? counted : shape;
  const leaks = route.read.decidedBy === null ? outside(rows, allowed) : outsideOfModels(rows, models, further);
  return [...new Set([...found, ...leaks])].sort();
}

/**
 * The paths that a custom handler may not show. It can respond with any model: the best match counts. The values of further keys
 * are checked in the same way.
 */
function outsideOfModels(value: unknown, models: readonly Shape[], further: Shape, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => outsideOfModels(item, models, further, at));
  const trials = [none, ...models].map((shape) =>
    eachKey(value, at, (key, below, path) => {
      const inner = shape.get(key);
      if (inner !== undefined) return outside(below, inner, path);
      const allowed = further.get(key);
      return allowed === undefined ? [path] : outsideOfModels(below, models, allowed ?? none, path);
    }),
  );
  return trials.reduce((least, found) => (found.length < least.length ? found : least));
}

function isCollection(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'results' in body && 'pagination' in body;
}
