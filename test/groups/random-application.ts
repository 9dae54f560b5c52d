import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ApiController, type ApiRequest, Authenticator, type ModelQuery, type User, Voter } from '../../src/index.ts';
import { classesOf, declaredGroups, type FieldShape, isIn, modelOf, shapesOf } from './oracle.ts';
import {
  type ApiSpec,
  type ApplicationSpec,
  boundGroups,
  type ColumnSpec,
  type LinkSpec,
  type ModelSpec,
  type PropertySpec,
} from './random-spec.ts';

type Any = any;

/** The caller is in a header: `ann ROLE_A,B`. */
class HeaderAuthenticator extends Authenticator {
  override authenticate(request: FastifyRequest): User | null {
    const [id, roles = ''] = String(request.headers['x-caller'] ?? '').split(' ');
    return id ? { id, roles: roles.split(',').filter((role) => role !== '') } : null;
  }
}

class RoleVoter extends Voter {
  static override roles = ['SEE_B'];
  override async vote(_role: string, _subject: unknown, user: User | null) {
    return user?.roles.includes('B') ? ('grant' as const) : ('abstain' as const);
  }
}

/** Depends on the row. Without a row, only callers who own all rows have the role. */
class OwnerVoter extends Voter<{ owner: string }> {
  static override roles = ['OWN'];
  override vote(_role: string, subject: { owner: string } | null, user: User | null) {
    return user !== null && (user.roles.includes('ALL') || subject?.owner === user.id) ? ('grant' as const) : ('deny' as const);
  }
}

export function applicationOf(spec: ApplicationSpec) {
  const models = modelsOf(spec);
  const controllers: Any[] = [];
  const apis = spec.apis.map((api) => {
    const { restricted } = modelOf(spec, api.model);
    class Controller extends ApiController {}
    Object.defineProperty(Controller, 'name', { value: `${api.name}Controller` });
    if (restricted) {
      Controller.prototype.customizeQuery = (_action: string, _request: ApiRequest, query: ModelQuery<Any>) => {
        query.andWhere({ shown: true });
      };
    }
    if (api.hooks) {
      for (const hook of ['afterFetch', 'afterAccessCheck', 'afterValidation'] as const)
        Controller.prototype[hook] = async () => {};
    }
    if (restricted || api.hooks) controllers.push(Controller);
    return [api.name, apiOf(spec, api, models.get(api.model), restricted || api.hooks ? Controller : null)];
  });
  return {
    app_main: {
      groups: Object.fromEntries(Object.entries(boundGroups).map(([name, role]) => [name, { role }])),
      apis: Object.fromEntries(apis),
    } as never,
    models: [...models.values()],
    controllers,
    voters: [RoleVoter, OwnerVoter],
    authenticators: [HeaderAuthenticator],
  };
}

function apiOf(spec: ApplicationSpec, api: ApiSpec, model: Any, controller: Any) {
  const { aggregate, defaultSort, filters, search, sort } = listOf(spec, api);
  return {
    class: model,
    controller,
    base_path: `/${api.name}`,
    groups: api.groups,

    formats: ['json', 'xml', 'csv', 'ndjson'],
    pagination: { items_per_page: api.pageSize },
    filters,
    sort,
    ...(search.length > 0 && { search }),
    default_sort: defaultSort,
    // hooks can change the list, and the database knows nothing about them
    ...(!api.hooks && { aggregate }),
    actions: {
      _index: { methods: { GET: true, HEAD: true, POST: true }, groups: api.index },
      _entity: { methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true }, groups: api.entity },
    },
  };
}

export interface ListSpec {
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly sort: readonly string[];
  readonly search: readonly string[];
  readonly defaultSort: readonly string[];
  readonly aggregate: AggregateSpec;
}

export interface AggregateSpec {
  readonly by: readonly string[];
  readonly of: Readonly<Record<string, readonly string[]>>;
}

/** What a list declares: a choice of the fields that it shows to a caller with every role. */
export function listOf(spec: ApplicationSpec, api: ApiSpec): ListSpec {
  const all = declaredGroups(api, 'index', 'read');
  const shapes = shapesOf(spec, api.model, all, all);
  const own = new Map([...shapes.values()].flat().map((field) => [field.name, field]));
  const paths = [...own.values()].flatMap((field) => pathsOf(spec, field));
  const isChosen = (index: number, probability: number) => (api.choices[index % api.choices.length] as number) < probability;
  const texts = paths.filter(({ kind }) => kind === 'string');
  const isSortable = ({ hides, kind, many }: ListedPath) => (kind === 'string' || kind === 'integer') && !many && !hides;
  const single = paths.filter(({ kind, many }) => !many && kind !== 'json');
  const isGroup = (_: unknown, i: number) => isChosen(i + 17, 0.6);
  const values = single.filter((each, i) => !isGroup(each, i) && each.kind !== 'boolean');
  const first = modelOf(spec, api.model).columns.filter(
    (column) => isIn(column, all) && (column.kind === 'string' || column.kind === 'integer'),
  );
  return {
    filters: Object.fromEntries(paths.filter((_, i) => isChosen(i, 0.7)).map(({ kind, path }) => [path, operators[kind]])),
    sort: paths.filter((each, i) => isSortable(each) && isChosen(i + 7, 0.6)).map(({ path }) => path),
    search: texts.filter((_, i) => isChosen(i + 13, 0.5)).map(({ path }) => path),
    defaultSort: isChosen(3, 0.6) ? first.slice(0, 1).map(({ name }) => `${isChosen(5, 0.5) ? '-' : ''}${name}`) : [],
    aggregate: {
      by: single.filter(isGroup).map(({ path }) => path),
      of: Object.fromEntries(values.map(({ kind, path }) => [path, kind === 'integer' ? ['sum', 'min', 'max'] : ['min', 'max']])),
    },
  };
}

interface ListedPath {
  readonly path: string;
  readonly kind: keyof typeof operators;
  readonly many: boolean;
  /** Rows on the way may be hidden. */
  readonly hides: boolean;
}

export const operators = {
  string: ['eq', 'ne', 'in', 'lt', 'gte', 'contains', 'starts', 'exists'],
  integer: ['eq', 'ne', 'in', 'lt', 'gte', 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  json: ['exists'],
  association: ['exists'],
} as const;

/** The paths of a field that lists can be filtered by, through one association or embedded object at most. */
function pathsOf(spec: ApplicationSpec, field: FieldShape): ListedPath[] {
  const at = (path: string, kind: ListedPath['kind'], more: Partial<ListedPath> = {}) => [
    { path, kind, many: false, hides: false, ...more },
  ];
  if (field.kind === 'getter') return [];
  if (field.inner === null) {
    if (field.name === 'id') return at('id', 'integer');
    const kind = columnOf(spec, field.key)?.kind;
    return kind === undefined ? [] : at(field.name, kind);
  }
  const link = field.kind === 'embedded' ? null : linkOf(spec, field.key);
  const hides = link !== null && modelOf(spec, link.to).restricted;
  const inner = [...new Map([...field.inner.values()].flat().map((each) => [each.name, each])).values()];
  const below = inner.flatMap((each) => (each.inner === null ? pathsOf(spec, each) : []));
  const through = below.map((each) => ({ ...each, path: `${field.name}.${each.path}`, many: field.many, hides }));
  // parts of an object in JSON are not columns
  if (link === null) return isInline(spec, field.key) ? through : [];
  return [...at(field.name, 'association', { many: true }), ...through];
}

const inKey = (key: string): [string, string, string?] => key.split('.') as [string, string, string?];

export function columnOf(spec: ApplicationSpec, key: string): ColumnSpec | undefined {
  const [model, name, part] = inKey(key);
  const classes = classesOf(spec, model);
  if (part === undefined) return classes.flatMap(({ columns }) => columns).find((column) => column.name === name);
  return classes
    .flatMap(({ embedded }) => embedded)
    .find((embedded) => embedded.name === name)
    ?.parts.find((column) => column.name === part);
}

function linkOf(spec: ApplicationSpec, key: string): LinkSpec {
  const [model, name] = inKey(key);
  return classesOf(spec, model)
    .flatMap(({ links }) => links)
    .find((link) => link.name === name) as LinkSpec;
}

function isInline(spec: ApplicationSpec, key: string): boolean {
  const [model, name] = inKey(key);
  return classesOf(spec, model).some(({ embedded }) => embedded.some((each) => each.name === name && each.form === 'inline'));
}

function modelsOf(spec: ApplicationSpec): Map<string, Any> {
  const made = new Map<string, Any>();
  const all = new Map<string, Any>();
  for (const model of spec.models) {
    const properties: Record<string, unknown> = model.root === model.name ? rootProperties(model) : {};
    for (const column of model.columns) properties[column.name] = grouped(columnProperty(column), column);
    for (const getter of model.getters) properties[getter.name] = grouped((p.string() as Any).persist(false).getter(), getter);
    for (const each of model.embedded) {
      const parts = each.parts.map((part) => [part.name, grouped(columnProperty(part), part)]);
      const Part = defineEntity({
        name: `${model.name}${each.name}`,
        embeddable: true,
        properties: Object.fromEntries(parts),
      } as Any);
      all.set(`${model.name}.${each.name}`, Part);
      let property: Any = p.embedded(Part as Any);
      if (each.form === 'object') property = property.object();
      if (each.nullable) property = property.nullable();
      properties[each.name] = grouped(property, each);
    }
    for (const link of model.links) properties[link.name] = () => grouped(linkProperty(link, made.get(link.to)), link);
    const schema: Any = defineEntity({
      name: model.name,
      ...(model.root !== model.name && { extends: made.get(model.root), discriminatorValue: model.name.toLowerCase() }),
      ...(model.root === model.name &&
        model.type && { discriminatorColumn: 'type', discriminatorValue: model.name.toLowerCase() }),
      properties,
    } as Any);
    made.set(model.name, withCode(schema, model));
  }
  return new Map([...made, ...all]);
}

function rootProperties({ id, type, versioned }: ModelSpec): Record<string, unknown> {
  return {
    id: grouped(p.integer().primary(), id),
    ...(type && { type: grouped(p.string(), type) }),
    owner: p.string().default('nobody'),
    shown: p.boolean().default(true),
    ...(versioned && { version: p.integer().version() }),
  };
}

function columnProperty({ kind }: ColumnSpec): Any {
  const makers = { string: () => p.string(), integer: () => p.integer(), boolean: () => p.boolean(), json: () => p.json() };
  return (makers[kind]() as Any).nullable();
}

function linkProperty({ kind, mappedBy }: LinkSpec, target: Any): Any {
  if (kind === 'reverse') return (p.oneToMany(target) as Any).mappedBy(mappedBy);
  return kind === 'to-many' ? p.manyToMany(target) : p.manyToOne(target).nullable();
}

function grouped(property: Any, { groups, hidden, json, name }: PropertySpec): Any {
  let made = property;
  if (groups.length > 0) made = made.groups(...groups);
  if (json !== name) made = made.serializedName(json);
  return hidden ? made.hidden() : made;
}

function withCode(schema: Any, { getters, name, ruled }: ModelSpec): Any {
  if (getters.length === 0 && !ruled) return schema;
  const Model = class extends schema.class {};
  Object.defineProperty(Model, 'name', { value: name });
  for (const getter of getters) {
    Object.defineProperty(Model.prototype, getter.name, {
      configurable: true,
      get(this: Any) {
        return `of ${JSON.stringify(this[getter.of] ?? null)}`;
      },
    });
  }
  if (ruled) Model.prototype.validate = () => [];
  schema.setClass(Model);
  return Model;
}
