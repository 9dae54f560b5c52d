import { restrictsQueries } from '../../actions/api-controller.ts';
import type { Application } from '../../application.ts';
import { denormalizerOf, denormalizersOf } from '../../change/associations.ts';
import type { HttpMethod, Path } from '../../declaration/types.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { defaultFilters } from '../../query/entities/filters.ts';
import { orderRecords } from '../../route/order.ts';
import type { RouteRecord } from '../../route/record.ts';
import { type ModelAccess, modelsOf } from '../models.ts';
import { type Declared, Places } from '../places.ts';
import { type ActionKind, actionOf, controllerOf, isOverridden } from '../route-action.ts';
import { type FieldAccess, FieldsOfRoutes, type RouteFields } from '../route-fields.ts';
import { type SettingsAccess, settingsOf } from '../settings.ts';

export type { FieldAccess, ModelAccess, RouteFields };

/** Who may do what in an application, as plain data. Every part says where it was declared. */
export interface AccessMatrix {
  /** One entry for each route and method, in matching order. */
  readonly routes: readonly RouteAccess[];
  readonly models: readonly ModelAccess[];
  readonly settings: SettingsAccess;
}

/** A role that is asked for, and who judges it. */
export interface RoleAccess {
  readonly role: string;
  /** The classes of the voters, in the order they are asked. */
  readonly voters: readonly string[];
  /** Where the route is given the role. */
  readonly place: string;
}

/** Something that callers may ask of a list. */
export interface Question {
  readonly kind: 'filter' | 'sort' | 'search';
  /** The field, as it is named in JSON. */
  readonly field: string;
  /** How a filter may compare it; null for the others. */
  readonly operator: string | null;
  readonly place: string;
}

/** What one method of a route asks for, shows and takes. */
export interface RouteAccess {
  /** The route's name: `app_api_single_person__index`. */
  readonly name: string;
  /** The name of the API; null for a route of the application's own. */
  readonly api: string | null;
  readonly method: HttpMethod;
  readonly path: string;
  readonly requirements: Readonly<Record<string, Declared<string>>>;
  readonly formats: readonly string[];
  readonly action: ActionKind;
  /** `PersonController.closeApi` */
  readonly handler: Declared<string>;
  /** The class of the API; null for a route of the application's own. */
  readonly model: string | null;
  /** Nobody is asked. */
  readonly public: boolean;
  /** All of them must be granted, in this order. */
  readonly roles: readonly RoleAccess[];
  /** What narrows the rows: `PersonController.customizeQuery`. */
  readonly restricted: Declared<string> | null;
  /** The filters of the model that are on by default, which hide rows too. */
  readonly filters: readonly string[];
  /** Methods of the controller that can change the answer, or give another. */
  readonly hooks: readonly Declared<string>[];
  readonly read: RouteFields;
  readonly write: RouteFields;
  /** What callers may ask of a list: filters, orders and searches. */
  readonly questions: readonly Question[];
  /** Where the method is enabled. */
  readonly place: string;
  readonly places: RoutePlaces;
}

/** Where the parts of a route are written, or the nearest thing around where they would be. */
interface RoutePlaces {
  readonly basePath: string;
  /** The action's own part of the path. */
  readonly segment: string;
  readonly baseRole: string;
  readonly methodRole: string;
  readonly requirements: string;
  readonly formats: Readonly<Record<string, string>>;
  readonly model: string;
  readonly controller: string;
  readonly controllerClass: string;
}

/** Makes the access matrix of an application from what its requests are answered with. No database is opened. */
export function accessMatrix(application: Application): AccessMatrix {
  const { catalog, mapper, records } = application;
  const places = new Places(application);
  const denormalizers = denormalizersOf(catalog.denormalizers);
  const nameOf = (denormalizer: object | undefined) => denormalizer?.constructor.name ?? null;
  const fields = new FieldsOfRoutes(mapper, places, (owner, property) => nameOf(denormalizerOf(denormalizers, owner, property)));
  return {
    routes: orderRecords(records).flatMap((record) =>
      record.methods.map((method) => routeAccess(application, record, method, fields, places)),
    ),
    models: modelsOf(mapper, places),
    settings: settingsOf(application, places),
  };
}

function routeAccess(
  { mapper, voters }: Application,
  record: RouteRecord,
  method: HttpMethod,
  fields: FieldsOfRoutes,
  places: Places,
): RouteAccess {
  const { action, api } = record;
  const kind = actionOf(record, method);
  const at = new RoutePlacer(record, places);
  const roles = (record.roles[method] ?? []).map((role) => ({
    role,
    voters: voters.votersFor(role).map((voter) => voter.constructor.name),
    place: at.role(role, method),
  }));
  const requirements = Object.entries(record.requirements).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: record.name,
    api: api?.name ?? null,
    method,
    path: record.path,
    requirements: Object.fromEntries(
      requirements.map(([name, value]) => [name, { value, place: at.action('requirements', 'requirements', name) }]),
    ),
    formats: record.formats,
    action: kind,
    handler: { value: `${record.controller}.${record.handler}`, place: at.handler(kind) },
    model: api?.class.name ?? null,
    public: roles.length === 0,
    roles,
    // a handler without an id makes its own queries
    restricted: action?.single || kind === 'list' ? restrictionOf(record, places) : null,
    filters: api ? defaultFilters(metaOf(mapper, api.class.value)).sort() : [],
    hooks: hooksOf(record, places),
    read: fields.read(record, kind),
    write: fields.write(record, method, kind),
    questions: questionsOf(record, method, places),
    place: at.action('methods', 'methods', method),
    places: at.all(method),
  };
}

function restrictionOf({ api }: RouteRecord, places: Places): Declared<string> | null {
  const type = api && controllerOf(api);
  if (!type || !restrictsQueries(type)) return null;
  return { value: `${type.name}.customizeQuery`, place: places.ofMethod('controllers', type, 'customizeQuery') };
}

const hooks = [
  'getEntity',
  'onPostFetchEntity',
  'onPostCheckAccess',
  'onAfterValidation',
  'onAfterFlush',
  'onBeforeSerialize',
] as const;

/** The methods of the controller that are called on the way, in calling order. */
function hooksOf({ api }: RouteRecord, places: Places): readonly Declared<string>[] {
  if (!api) return [];
  const type = controllerOf(api);
  return hooks
    .filter((name) => isOverridden(api, name))
    .map((name) => ({ value: `${type.name}.${name}`, place: places.ofMethod('controllers', type, name) }));
}

/** What callers may ask of the list that an action gives. A handler has to page through it for any of this to be answered. */
function questionsOf({ action }: RouteRecord, method: HttpMethod, places: Places): readonly Question[] {
  if (!action?.list || (method !== 'GET' && method !== 'HEAD')) return [];
  const { filters, search, sort } = action.list;
  const question = (kind: Question['kind'], field: string, path: Path, operator: string | null = null): Question => ({
    kind,
    field,
    operator,
    place: places.ofConfig(path),
  });
  return [
    ...filters.flatMap(({ field, operators, path }) => operators.map((operator) => question('filter', field, path, operator))),
    ...sort.map(({ field, path }) => question('sort', field, path)),
    ...(search?.fields ?? []).map(({ field, path }) => question('search', field, path)),
  ];
}

/** Says where the parts of a route are written: in the configuration, or by the service that loads the route. */
class RoutePlacer {
  readonly #record: RouteRecord;
  readonly #places: Places;

  constructor(record: RouteRecord, places: Places) {
    this.#record = record;
    this.#places = places;
  }

  /** A key of the API; of a route that was loaded, another one. */
  api(loadedKey: string, ...path: Path): string {
    return this.#part(loadedKey, this.#record.api?.path, path);
  }

  /** A key of the action; of a route that was loaded, another one. */
  action(loadedKey: string, ...path: Path): string {
    return this.#part(loadedKey, this.#record.action?.path, path);
  }

  #part(loadedKey: string, within: Path | undefined, path: Path): string {
    const { controller, name, source } = this.#record;
    return within ? this.#places.ofConfig([...within, ...path]) : this.#places.ofLoadedRoute(controller, name, loadedKey, source);
  }

  role(role: string, method: HttpMethod): string {
    const { action, api } = this.#record;
    // HEAD has the role of GET besides its own
    const own = [method, 'GET' as const].find((each) => action?.roles[each] === role);
    return api?.baseRole === role || !own ? this.api('roles', 'base_role') : this.action('roles', 'roles', own);
  }

  handler(kind: ActionKind): string {
    const { action, api, handler } = this.#record;
    if (api?.controller && kind === 'handler' && action?.controllerAction === null && !action.association)
      return this.#places.ofMethod('controllers', api.controller.value, handler);
    const key = action?.controllerAction !== null ? ['controller_action'] : action.association ? ['association'] : [];
    return this.action('handler', ...key);
  }

  all(method: HttpMethod): RoutePlaces {
    const { action, api, formats } = this.#record;
    const controller = this.api('handler', 'controller');
    const lists: Path[] = [action, api].flatMap((part) => (part ? [[...part.path, 'formats']] : []));
    return {
      basePath: this.api('path', 'base_path'),
      segment: this.action('path', 'path'),
      baseRole: this.api('roles', 'base_role'),
      methodRole: this.action('roles', 'roles', method),
      requirements: this.action('requirements', 'requirements'),
      formats: Object.fromEntries(
        formats.map((format, position) => [format, this.#places.ofItem([...lists, ['app_main', 'formats']], position)]),
      ),
      model: this.api('handler', 'class'),
      controller,
      controllerClass: api?.controller ? this.#places.ofClass('controllers', api.controller.name) : controller,
    };
  }
}
