import {
  type ApiSpec,
  type ApplicationSpec,
  boundGroups,
  type EmbeddedSpec,
  type ModelSpec,
  type PropertySpec,
} from './random-spec.ts';

/** Decides who may see and change what, from the specification of a random application alone. */

export interface Caller {
  readonly id: string;
  readonly roles: readonly string[];
}

export type Action = 'index' | 'entity';
export type Direction = 'read' | 'write';

/** A field of a JSON object. */
export interface FieldShape {
  readonly name: string;
  /** Model and property, and for a part of an embedded object the part. */
  readonly key: string;
  /** The objects inside, by class; null for a value. */
  readonly inner: Shapes | null;
  readonly many: boolean;
  readonly kind: 'value' | 'getter' | 'embedded' | 'to-one' | 'to-many';
}

export type Shape = readonly FieldShape[];

/** The fields of a JSON object for each class that it can have. */
export type Shapes = ReadonlyMap<string, Shape>;

export function modelOf({ models }: ApplicationSpec, name: string): ModelSpec {
  return models.find((model) => model.name === name) as ModelSpec;
}

/** The class and its subclasses. */
export function classesOf({ models }: ApplicationSpec, name: string): ModelSpec[] {
  return models.filter((model) => model.name === name || model.root === name);
}

/** Whether a caller has the role of a group: for a row, or for none if `owner` is null. */
function isGranted(group: string, caller: Caller | null, owner: string | null): boolean {
  const role = boundGroups[group];
  if (role === undefined) return true;
  if (role === 'ROLE_A') return caller?.roles.includes('ROLE_A') === true;
  if (role === 'SEE_B') return caller?.roles.includes('B') === true;
  return caller !== null && (caller.roles.includes('ALL') || owner === caller.id);
}

export function declaredGroups(api: ApiSpec, action: Action, direction: Direction): readonly string[] {
  return api[action][direction] ?? api.groups[direction] ?? [direction];
}

/** The groups that apply to a caller. `owner` is null for lists, creation and embedded rows. */
export function grantedGroups(
  api: ApiSpec,
  action: Action,
  direction: Direction,
  caller: Caller | null,
  owner: string | null,
): string[] {
  return declaredGroups(api, action, direction).filter((group) => isGranted(group, caller, owner));
}

/** The fields of a response of an action. */
export function shownTo(app: ApplicationSpec, api: ApiSpec, action: Action, caller: Caller | null, owner: string | null): Shapes {
  const of = (subject: string | null) => grantedGroups(api, action, 'read', caller, subject);
  return shapesOf(app, api.model, of(action === 'entity' ? owner : null), of(null));
}

export function shapesOf(
  app: ApplicationSpec,
  model: string,
  own: readonly string[],
  embedded: readonly string[],
  above: readonly string[] = [],
): Shapes {
  const { root } = modelOf(app, model);
  const isCut = above.includes(root);
  return new Map(classesOf(app, model).map((spec) => [spec.name, shapeOf(app, spec, own, embedded, above, isCut)]));
}

function shapeOf(
  app: ApplicationSpec,
  spec: ModelSpec,
  own: readonly string[],
  embedded: readonly string[],
  above: readonly string[],
  isCut: boolean,
): Shape {
  const value = ({ json, name }: PropertySpec, kind: 'value' | 'getter' = 'value', prefix = `${spec.root}.`): FieldShape => ({
    name: json,
    key: `${prefix}${name}`,
    inner: null,
    many: false,
    kind,
  });
  const identity = [spec.id, ...(spec.type ? [spec.type] : [])].filter((each) => isIn(each, own)).map((each) => value(each));
  if (isCut) return identity;
  const inherited = spec.root === spec.name ? [spec] : [modelOf(app, spec.root), spec];
  const fields = inherited.flatMap(({ columns, embedded: objects, getters, links }): FieldShape[] => [
    ...columns.filter((each) => isIn(each, own)).map((each) => value(each)),
    ...getters.filter((each) => isIn(each, own)).map((each) => value(each, 'getter')),
    ...objects
      .filter((each) => isIn(each, own))
      .map((each) => ({
        ...value(each),
        kind: 'embedded' as const,
        inner: new Map([
          [
            each.name,
            each.parts.filter((part) => isIn(part, own)).map((part) => value(part, 'value', `${spec.root}.${each.name}.`)),
          ],
        ]),
      })),
    ...links
      .filter((each) => isIn(each, own))
      .map((each) => ({
        ...value(each),
        kind: each.kind === 'to-one' ? ('to-one' as const) : ('to-many' as const),
        many: each.kind !== 'to-one',
        inner: shapesOf(app, each.to, embedded, embedded, [...above, spec.root]),
      })),
  ]);
  return [...identity, ...fields];
}

export function isIn({ groups, hidden }: PropertySpec, active: readonly string[]): boolean {
  return !hidden && groups.some((group) => active.includes(group));
}

/** The properties of a class that a body could contain if groups allowed it. */
export function settableOf(app: ApplicationSpec, model: string): (PropertySpec & Partial<EmbeddedSpec>)[] {
  const spec = modelOf(app, model);
  const inherited = spec.root === spec.name ? [spec] : [modelOf(app, spec.root), spec];
  return inherited.flatMap(({ columns, embedded, links }) => [
    ...columns,
    ...embedded,
    ...links.filter(({ kind }) => kind !== 'reverse'),
  ]);
}

/** The keys of all fields of a shape, at any depth. */
export function keysIn(shapes: Shapes): Set<string> {
  const keys = new Set<string>();
  const visit = (inner: Shapes) => {
    for (const fields of inner.values())
      for (const field of fields) {
        keys.add(field.key);
        if (field.inner) visit(field.inner);
      }
  };
  visit(shapes);
  return keys;
}

/** The names of all fields of a shape, at any depth. */
export function namesIn(shapes: Shapes): Set<string> {
  const names = new Set<string>();
  for (const fields of shapes.values())
    for (const { inner, name } of fields) {
      names.add(name);
      if (inner) for (const each of namesIn(inner)) names.add(each);
    }
  return names;
}

/** Keeps only the fields that `?fields=` names. Null if one of the names does not exist. */
export function chosen(shapes: Shapes, paths: readonly string[]): Shapes | null {
  for (const path of paths) if (!exists(shapes, path.split('.'))) return null;
  return restricted(
    shapes,
    paths.map((path) => path.split('.')),
  );
}

function exists(shapes: Shapes, [name, ...rest]: readonly string[]): boolean {
  return [...shapes.values()].some((fields) =>
    fields.some((field) => field.name === name && (rest.length === 0 || (field.inner !== null && exists(field.inner, rest)))),
  );
}

function restricted(shapes: Shapes, paths: readonly (readonly string[])[]): Shapes {
  return new Map(
    [...shapes].map(([model, fields]) => [
      model,
      fields.flatMap((field) => {
        const own = paths.filter(([name]) => name === field.name).map((path) => path.slice(1));
        if (own.length === 0) return [];
        const isWhole = field.inner === null || own.some(({ length }) => length === 0);
        return [isWhole ? field : { ...field, inner: restricted(field.inner as Shapes, own) }];
      }),
    ]),
  );
}

/** What a JSON value has beyond the shape, or lacks; null if it has exactly the fields of one of the classes. */
export function difference(value: unknown, shapes: Shapes, path = ''): string | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return `${path || 'the value'} is not an object`;
  const found: string[] = [];
  for (const fields of shapes.values()) {
    const problem = differenceFrom(value as Record<string, unknown>, fields, path);
    if (problem === null) return null;
    found.push(problem);
  }
  return found.join(' / ') || 'no class';
}

function differenceFrom(value: Record<string, unknown>, fields: Shape, path: string): string | null {
  const allowed = new Map(fields.map((field) => [field.name, field]));
  for (const name of Object.keys(value)) if (!allowed.has(name)) return `${path}${name} must not be there`;
  for (const { inner, kind, many, name } of fields) {
    if (!(name in value)) return `${path}${name} is missing`;
    const given = value[name];
    if (inner === null || (given === null && !many)) continue;
    if (kind === 'to-many' && !Array.isArray(given)) return `${path}${name} is not a list`;
    for (const item of many ? (given as unknown[]) : [given]) {
      const problem = difference(item, inner, `${path}${name}.`);
      if (problem !== null) return problem;
    }
  }
  return null;
}
