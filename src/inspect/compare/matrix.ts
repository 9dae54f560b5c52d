import type { Application } from '../../application.ts';
import { denormalizerOf, denormalizersOf } from '../../change/associations.ts';
import type { HttpMethod, Path } from '../../declaration/types.ts';
import { readGroups } from '../../model/groups.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { defaultFilters } from '../../query/entities/filters.ts';
import { orderRecords } from '../../route/order.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { FieldAccess } from '../fields.ts';
import { type ModelAccess, modelsOf } from '../models.ts';
import { type Declared, Places } from '../places.ts';
import { type ActionKind, actionOf } from '../route-action.ts';
import { FieldsOfRoutes, type RouteFields } from '../route-fields.ts';
import { hooksOf, type RoleAccess, restrictionOf, rolesOf } from '../route-guards.ts';
import { type Question, questionsOf } from '../route-questions.ts';
import { type SettingsAccess, settingsOf } from '../settings.ts';

export type { Declared, FieldAccess, ModelAccess, Question, RoleAccess, RouteFields, SettingsAccess };

/** Who may do what in an application, as plain data. Every part says where it was declared. */
export interface AccessMatrix {
  /** One entry for each route and method, in matching order. */
  readonly routes: readonly RouteAccess[];
  /** What each model has in each group, whoever shows it. */
  readonly models: readonly ModelAccess[];
  /** What holds for every route. */
  readonly settings: SettingsAccess;
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
  /** What is done; a `handler` or a `service` is code of the application, and `unsupported` is answered with 400. */
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
export interface RoutePlaces {
  readonly basePath: string;
  /** The action's own part of the path. */
  readonly segment: string;
  readonly baseRole: string;
  readonly methodRole: string;
  readonly requirements: string;
  /** By format. */
  readonly formats: Readonly<Record<string, string>>;
  readonly model: string;
  /** Where the controller is named. */
  readonly controller: string;
  /** Where the controller is written. */
  readonly controllerClass: string;
}

/** Makes the access matrix of an application from what its requests are answered with. No database is opened. */
export function accessMatrix(application: Application): AccessMatrix {
  const { catalog, mapper, records } = application;
  const places = new Places(application);
  const denormalizers = denormalizersOf(catalog.denormalizers);
  const fields = new FieldsOfRoutes({
    mapper,
    places,
    groups: readGroups,
    denormalizerOf: (owner, property) => denormalizerOf(denormalizers, owner, property)?.constructor.name ?? null,
  });
  return {
    routes: orderRecords(records).flatMap((record) =>
      record.methods.map((method) => routeAccess(application, record, method, fields, places)),
    ),
    models: modelsOf(mapper, places),
    settings: settingsOf(application, places),
  };
}

function routeAccess(
  application: Application,
  record: RouteRecord,
  method: HttpMethod,
  fields: FieldsOfRoutes,
  places: Places,
): RouteAccess {
  const action = actionOf(record, method);
  const roles = rolesOf(application, record, method, places);
  return {
    name: record.name,
    api: record.api?.name ?? null,
    method,
    path: record.path,
    requirements: requirementsOf(record, places),
    formats: record.formats,
    action,
    handler: { value: `${record.controller}.${record.handler}`, place: handlerPlace(record, action, places) },
    model: record.api?.class.name ?? null,
    public: roles.length === 0,
    roles,
    restricted: restrictionOf(record, action, places),
    filters: record.api ? defaultFilters(metaOf(application.mapper, record.api.class.value)).sort() : [],
    hooks: hooksOf(record, places),
    read: fields.read(record, action),
    write: fields.write(record, method, action),
    questions: questionsOf(record, method, places),
    place: methodPlace(record, method, places),
    places: placesOf(record, method, places),
  };
}

function requirementsOf(record: RouteRecord, places: Places): RouteAccess['requirements'] {
  const at = (name: string) =>
    record.action
      ? places.ofConfig([...record.action.path, 'requirements', name])
      : places.ofLoadedRoute(record.controller, record.name, 'requirements', record.source);
  const named = Object.entries(record.requirements).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(named.map(([name, value]) => [name, { value, place: at(name) }]));
}

function methodPlace({ action, controller, name, source }: RouteRecord, method: HttpMethod, places: Places): string {
  if (!action) return places.ofLoadedRoute(controller, name, 'methods', source);
  return places.ofConfig([...action.path, 'methods', method]);
}

function placesOf(
  { action, api, controller, formats, name, source }: RouteRecord,
  method: HttpMethod,
  places: Places,
): RoutePlaces {
  const formatPlaces = (lists: readonly Path[]) =>
    Object.fromEntries(formats.map((format, position) => [format, places.ofItem([...lists, ['app_main', 'formats']], position)]));
  if (!api || !action) {
    const at = (key: string) => places.ofLoadedRoute(controller, name, key, source);
    const handler = at('handler');
    return {
      basePath: at('path'),
      segment: at('path'),
      baseRole: at('roles'),
      methodRole: at('roles'),
      requirements: at('requirements'),
      formats: formatPlaces([]),
      model: handler,
      controller: handler,
      controllerClass: handler,
    };
  }
  const named = places.ofConfig([...api.path, 'controller']);
  return {
    basePath: places.ofConfig([...api.path, 'base_path']),
    segment: places.ofConfig([...action.path, 'path']),
    baseRole: places.ofConfig([...api.path, 'base_role']),
    methodRole: places.ofConfig([...action.path, 'roles', method]),
    requirements: places.ofConfig([...action.path, 'requirements']),
    formats: formatPlaces([
      [...action.path, 'formats'],
      [...api.path, 'formats'],
    ]),
    model: places.ofConfig([...api.path, 'class']),
    controller: named,
    controllerClass: api.controller ? places.ofClass('controllers', api.controller.name) : named,
  };
}

function handlerPlace({ action, api, controller, handler, name, source }: RouteRecord, kind: ActionKind, places: Places): string {
  if (!api || !action) return places.ofLoadedRoute(controller, name, 'handler', source);
  if (action.controllerAction !== null) return places.ofConfig([...action.path, 'controller_action']);
  if (action.association) return places.ofConfig([...action.path, 'association']);
  if (!api.controller || kind !== 'handler') return places.ofConfig(action.path);
  return places.ofMethod('controllers', api.controller.value, handler);
}
