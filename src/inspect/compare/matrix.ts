import { restrictsQueries } from '../../actions/controller/controller-class.ts';
import { hookNames, hookNeeds } from '../../actions/hooks.ts';
import type { Application } from '../../application.ts';
import { aggregateNames } from '../../declaration/names/list-names.ts';
import type { HttpMethod, Path } from '../../declaration/types.ts';
import { planFields } from '../../model/field-plan.ts';
import { rolesOfPath } from '../../model/group-roles.ts';
import { groupNames } from '../../model/groups.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { aggregatedPath } from '../../model/readable-field.ts';
import { defaultFilters } from '../../query/entities/filters.ts';
import { orderRecords } from '../../route/order.ts';
import type { RouteRecord } from '../../route/record.ts';
import { modelsOf } from '../models.ts';
import { type Declared, type Places, placesIn } from '../places.ts';
import { type ActionKind, actionOf, controllerOf, isOverridden } from '../route-action.ts';
import { type FieldsOfRoutes, fieldsOfRoutes } from '../route-fields.ts';
import { boundGroupsOf, groupsOfRoute } from '../route-groups.ts';
import { settingsOf } from '../settings.ts';
import { listsOf, methodPlace } from './lists.ts';

/** The access rules of an application, as plain data. Every part names the place that declares it. */
export type AccessMatrix = ReturnType<typeof accessMatrix>;
/** The requirements, the readable and the writable fields of one method of a route. */
export type RouteAccess = ReturnType<typeof routeAccess>;
export type RoleAccess = RouteAccess['roles'][number];

/** Builds the access matrix of an application from the plans that requests use. Opens no database. */
export function accessMatrix(application: Application) {
  const { declaration, mapper, records } = application;
  const places = placesIn(application);
  const fields = fieldsOfRoutes(application, places);
  return {
    /** One entry for each route and method, in matching order. */
    routes: orderRecords(records).flatMap((record) =>
      record.methods.map((method) => routeAccess(application, record, method, fields, places)),
    ),
    models: modelsOf(mapper, places),
    /** The groups that apply only to callers with a role. */
    groups: boundGroupsOf(declaration.groups, places),
    settings: settingsOf(application, places),
  };
}

function routeAccess(application: Application, record: RouteRecord, method: HttpMethod, fields: FieldsOfRoutes, places: Places) {
  const { declaration, mapper, voters } = application;
  const { action, api } = record;
  const kind = actionOf(record, method);
  const at = routePlaces(record, method, places);
  const roles = (record.roles[method] ?? []).map((role) => ({
    role,
    /** The classes of the voters, in voting order. */
    voters: voters.votersFor(role).map((voter) => voter.constructor.name),
    /** The place that gives the route this role. */
    place: at.role(role),
  }));
  const requirements = Object.entries(record.requirements).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    /** The name of the route: `app_api_single_person__index`. */
    name: record.name,
    /** The name of the API; null for routes that a service loads. */
    api: api?.name ?? null,
    method,
    path: record.path,
    requirements: Object.fromEntries(
      requirements.map(([name, value]) => [name, { value, place: at.action('requirements', 'requirements', name) }]),
    ) as Readonly<Record<string, Declared<string>>>,
    formats: record.formats,
    action: kind,
    /** `PersonController.closeApi` */
    handler: { value: `${record.controller}.${record.handler}`, place: at.handler(kind) } as Declared<string>,
    /** The class of the API; null for routes that a service loads. */
    model: api?.class.name ?? null,
    /** Whether the method requires no role. */
    public: roles.length === 0,
    /** All required roles, in the order of the checks. */
    roles,
    /** The method that restricts the rows: `PersonController.customizeQuery`. Creation reads no rows. */
    restricted:
      action?.single || ['list', 'aggregate', 'handler', 'patch', 'delete'].includes(kind) ? restrictionOf(record, places) : null,
    /** The default filters of the model, which hide rows too. */
    filters: api ? defaultFilters(metaOf(mapper, api.class.value)).sort() : [],
    /** Controller methods that can change or replace the response. */
    hooks: hooksOf(record, places),
    groups: groupsOfRoute(record, declaration.groups, places),
    read: fields.read(record, kind),
    write: fields.write(record, method, kind),
    ...listsOf(record, method, places),
    /** The filters, orders and searches of a list, and declared query parameters. */
    questions: questionsOf(application, record, method, places),
    /** The place that enables the method. */
    place: methodPlace(record, method, places) ?? at.action('methods', 'methods', method),
    places: at.all(),
  };
}

function restrictionOf({ api }: RouteRecord, places: Places): Declared<string> | null {
  const type = api && controllerOf(api);
  if (!type || !restrictsQueries(type)) return null;
  return { value: `${type.name}.customizeQuery`, place: places.ofMethod('controllers', type, 'customizeQuery') };
}

/** In calling order. `customizeQuery` restricts rows, and has an entry of its own. */
const hooks = [
  'getEntity' as const,
  ...hookNames.filter((name) => name === 'checkAccess' || (hookNeeds[name].replies && name !== 'customizeQuery')),
];

function hooksOf({ api }: RouteRecord, places: Places): readonly Declared<string>[] {
  if (!api) return [];
  const type = controllerOf(api);
  return hooks
    .filter((name) => isOverridden(api, name))
    .map((name) => ({ value: `${type.name}.${name}`, place: places.ofMethod('controllers', type, name) }));
}

/**
 * The declared filters, orders and searches of a list, and the query parameters of any action. With a custom handler, the former
 * work only if it pages through the list.
 */
function questionsOf({ mapper }: Application, { action, api }: RouteRecord, method: HttpMethod, places: Places) {
  const groups = action?.groups.read ?? [];
  const plan = api && planFields(mapper, metaOf(mapper, api.class.value), groupNames(groups));
  const asksList = method === 'GET' || method === 'HEAD';
  const isAggregate = action?.kind === 'aggregate';
  const { filters = [], search = null, sort = [] } = (asksList && action?.list) || {};
  const question = (
    kind: 'filter' | 'sort' | 'search' | 'aggregate' | 'parameter',
    field: string,
    path: Path,
    operator: string | null = null,
  ) => ({
    kind,
    /** The JSON name of the field, or the name of the parameter. */
    field,
    /** The operator of a filter; null for the others. */
    operator,
    /** The roles that a caller needs to name the field: of each list, one is enough. */
    roles:
      plan && kind !== 'parameter' ? rolesOfPath(plan, kind === 'aggregate' ? aggregatedPath(plan, field) : field, groups) : [],
    place: places.ofConfig(path),
  });
  return [
    ...filters.flatMap(({ field, operators, path }) => operators.map((operator) => question('filter', field, path, operator))),
    ...(isAggregate ? [] : sort).map(({ field, path }) => question('sort', field, path)),
    ...(search?.fields ?? []).map(({ field, path }) => question('search', field, path)),
    ...(isAggregate ? aggregateNames(action.list) : []).map(({ field, path }) => question('aggregate', field, path)),
    ...(action?.parameters ?? []).map(({ name, path }) => question('parameter', name, path)),
  ];
}

/**
 * The places of a route's parts, in the configuration or in the service that loads the route. A part that is not written has the
 * place of the nearest enclosing part.
 */
function routePlaces(record: RouteRecord, method: HttpMethod, places: Places) {
  const { action, api } = record;
  const part = (within: Path | undefined, loadedKey: string, path: Path) =>
    within
      ? places.ofConfig([...within, ...path])
      : places.ofLoadedRoute(record.controller, record.name, loadedKey, record.source);
  /** A key of the API or of the action; routes that a service loads have keys of their own. */
  const ofApi = (loadedKey: string, ...path: Path) => part(api?.path, loadedKey, path);
  const ofAction = (loadedKey: string, ...path: Path) => part(action?.path, loadedKey, path);
  return {
    action: ofAction,

    role(role: string): string {
      // HEAD has the role of GET unless its own is declared
      const own = [method, 'GET' as const].find((each) => action?.roles[each] === role);
      return api?.baseRole === role || !own ? ofApi('roles', 'base_role') : ofAction('roles', 'roles', own);
    },

    handler(kind: ActionKind): string {
      if (api?.controller && kind === 'handler' && action?.controllerAction === null && !action.association)
        return places.ofMethod('controllers', api.controller.value, record.handler);
      const key = action?.controllerAction !== null ? ['controller_action'] : action.association ? ['association'] : [];
      return ofAction('handler', ...key);
    },

    all() {
      const controller = ofApi('handler', 'controller');
      const lists: Path[] = [action, api].flatMap((each) => (each ? [[...each.path, 'formats']] : []));
      return {
        basePath: ofApi('path', 'base_path'),
        /** The action's own part of the path. */
        segment: ofAction('path', 'path'),
        baseRole: ofApi('roles', 'base_role'),
        methodRole: ofAction('roles', 'roles', method),
        requirements: ofAction('requirements', 'requirements'),
        formats: Object.fromEntries(
          record.formats.map((format, position) => [format, places.ofItem([...lists, ['app_main', 'formats']], position)]),
        ),
        model: ofApi('handler', 'class'),
        controller,
        controllerClass: api?.controller ? places.ofClass('controllers', api.controller.name) : controller,
      };
    },
  };
}
