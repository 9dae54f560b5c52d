import { restrictsQueries } from '../actions/api-controller.ts';
import type { Application } from '../application.ts';
import type { HttpMethod, Path } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Declared, Places } from './places.ts';
import { type ActionKind, controllerOf, isOverridden } from './route-action.ts';

/** A role that is asked for, and who judges it. */
export interface RoleAccess {
  readonly role: string;
  /** The classes of the voters, in the order they are asked. */
  readonly voters: readonly string[];
  /** Where the route is given the role. */
  readonly place: string;
}

/** The roles of a method, in the order they are checked. */
export function rolesOf({ voters }: Application, record: RouteRecord, method: HttpMethod, places: Places): readonly RoleAccess[] {
  return (record.roles[method] ?? []).map((role) => ({
    role,
    voters: voters.votersFor(role).map((voter) => voter.constructor.name),
    place: rolePlace(record, method, role, places),
  }));
}

function rolePlace({ action, api, controller, name, source }: RouteRecord, method: HttpMethod, role: string, places: Places) {
  if (!api || !action) return places.ofLoadedRoute(controller, name, 'roles', source);
  // HEAD has the role of GET besides its own
  const own = [method, 'GET' as const].find((each) => action.roles[each] === role);
  const path: Path = api.baseRole === role || !own ? [...api.path, 'base_role'] : [...action.path, 'roles', own];
  return places.ofConfig(path);
}

/** What restricts the rows that an action looks at. A handler without an id makes its own queries. */
export function restrictionOf({ action, api }: RouteRecord, kind: ActionKind, places: Places): Declared<string> | null {
  if (!api || !action) return null;
  const type = controllerOf(api);
  if (!restrictsQueries(type) || !(action.single || kind === 'list')) return null;
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
export function hooksOf({ api }: RouteRecord, places: Places): readonly Declared<string>[] {
  if (!api) return [];
  const type = controllerOf(api);
  return hooks
    .filter((name) => isOverridden(api, name))
    .map((name) => ({ value: `${type.name}.${name}`, place: places.ofMethod('controllers', type, name) }));
}
