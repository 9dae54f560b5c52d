import { rolesFor } from '../access/guard.ts';
import type { ActionDeclaration, ApiDeclaration, Declaration, HttpMethod, Path } from '../declaration/types.ts';
import { formatsMatching, httpMethods } from '../declaration/vocabulary.ts';
import { parsePath, placeholdersOf } from './pattern.ts';

/** A route as declared: one name, one path, the methods enabled on it. */
export interface RouteRecord {
  readonly name: string;
  /** As SPEC 4.1 writes it: `/api/person/{id}.{_format}`. */
  readonly path: string;
  readonly methods: readonly HttpMethod[];
  /** Regular expressions that the placeholders' values must match as a whole. */
  readonly requirements: Readonly<Record<string, string>>;
  readonly formats: readonly string[];
  /** Whether the path contains the entity's id. */
  readonly single: boolean;
  readonly api: ApiDeclaration | null;
  readonly action: ActionDeclaration | null;
  /** The definition that a route-loading service of the application returned; null for routes of an API. */
  readonly definition: RouteDefinition | null;
  readonly controller: string;
  readonly handler: string;
  readonly roles: Readonly<Partial<Record<HttpMethod, readonly string[]>>>;
  readonly source: Path;
}

/** A route that an application's own route-loading service returns. */
export interface RouteDefinition {
  readonly name: string;
  /** May end in `.{_format}`. */
  readonly path: string;
  readonly methods: readonly HttpMethod[];
  readonly requirements?: Readonly<Record<string, string>>;
  /** One role for every method, or one for each. */
  readonly roles?: Readonly<Partial<Record<HttpMethod, string>>> | string;
  /** In Markdown. */
  readonly description?: string;
  /** Whether it is left out of the OpenAPI document. */
  readonly hidden?: boolean;
  // Written as a method, so that a handler may narrow the request to Fastify's.
  handler(request: unknown, format: string): unknown;
}

/** The name of the action that aggregates a list. Hooks and voters are called for `_index`. */
const aggregateName = '_aggregate';

/** The requirement of an id, unless another one is declared. */
export const defaultIdRequirement = '\\d+';

/** The records of every action of every API, in the order of declaration. */
export function recordsOf(
  { apis }: Pick<Declaration, 'apis'>,
  idRequirementOf: IdRequirementOf = () => null,
): readonly RouteRecord[] {
  const actionsOf = (action: ActionDeclaration) => [action, ...aggregateActions(action)];
  return Object.freeze(
    apis.flatMap((api) => {
      const idRequirement = idRequirementOf(api) ?? defaultIdRequirement;
      return api.actions.flatMap(actionsOf).map((action) => recordOf(api, action, idRequirement));
    }),
  );
}

/** The aggregates of a list: an action of their own, with the roles of the list. */
function aggregateActions(action: ActionDeclaration): ActionDeclaration[] {
  const { kind, list, methods, segment } = action;
  const reading = methods.filter((method) => method === 'GET' || method === 'HEAD');
  if (kind !== 'index' || !list?.aggregate || reading.length === 0) return [];
  const path = segment === null ? list.aggregate.segment : `${segment}/${list.aggregate.segment}`;
  const described = { descriptions: {}, operationIds: {}, result: null, body: null };
  return [
    { ...action, ...described, name: aggregateName, kind: 'aggregate', methods: reading, segment: path, controllerAction: null },
  ];
}

/** The requirement of an API's ids, unless another one is declared; null: {@link defaultIdRequirement}. */
export type IdRequirementOf = (api: ApiDeclaration) => string | null;

function recordOf(api: ApiDeclaration, action: ActionDeclaration, idRequirement: string): RouteRecord {
  const path = pathOf(api, action);
  return freeze({
    // `app_api_single_person__index`, `app_api_single_person_participants`
    name: `app_api_single_${api.name}_${action.name}`,
    path,
    methods: [...action.methods],
    requirements: requirementsOf(path, action.requirements, idRequirement),
    formats: [...action.formats],
    single: action.single,
    api,
    action,
    definition: null,
    controller: api.controller?.name ?? 'ApiController',
    handler: handlerName(action, api.controller?.value),
    roles: rolesByMethod(action, api.baseRole),
    source: action.path,
  });
}

/** Whether a route is left out of the OpenAPI document. */
export function isHidden({ action, definition }: Pick<RouteRecord, 'action' | 'definition'>): boolean {
  return action?.hidden ?? definition?.hidden ?? false;
}

/** The record of a route that a route-loading service returned; `controller` is the name of that service. */
export function recordOfDefinition(
  definition: RouteDefinition,
  { formats, controller, prefix = '', source }: { formats: readonly string[]; controller: string; prefix?: string; source: Path },
): RouteRecord {
  const { methods, name, roles } = definition;
  // the route `/` of a service is at the prefix itself, without a slash at the end
  const path = prefix !== '' && definition.path === '/' ? prefix : prefix + definition.path;
  const { pattern } = parsePath(path);
  const own = typeof roles === 'string' ? Object.fromEntries(httpMethods.map((method) => [method, roles])) : (roles ?? {});
  return freeze({
    name,
    path,
    methods: [...methods],
    requirements: requirementsOf(path, definition.requirements ?? {}),
    formats: pattern.formatted ? formatsOf(formats, definition.requirements?._format) : formats.slice(0, 1),
    single: placeholdersOf(pattern).includes('id'),
    api: null,
    action: null,
    definition,
    controller,
    handler: definition.handler?.name || 'handler',
    roles: rolesByMethod({ methods, roles: own }, null),
    source,
  });
}

/** All roles of each method: the base role first, then its own. */
function rolesByMethod(action: Pick<ActionDeclaration, 'methods' | 'roles'>, baseRole: string | null): RouteRecord['roles'] {
  return Object.fromEntries(action.methods.map((method) => [method, rolesFor(action, baseRole, method)]));
}

type Handled = Pick<ActionDeclaration, 'name' | 'kind' | 'controllerAction' | 'association'>;

/** The name of the controller's method that handles an action. */
export function handlerName(action: Handled, controller?: unknown): string {
  if (action.controllerAction !== null) return action.controllerAction;
  if (action.kind === 'index') return 'indexApi';
  if (action.kind === 'entity') return 'entityApi';
  if (action.kind === 'aggregate') return 'aggregate';
  if (action.association) return 'addRemoveApi';
  const literal = `${action.name}Api`;
  const { prototype } = (controller ?? {}) as { prototype?: object };
  // a method can have a dash in its name, although hardly anybody writes one
  return prototype && literal in prototype ? literal : methodName(action.name);
}

/** The name of an action's method as an identifier: `do-it` is handled by `doItApi`. */
function methodName(action: string): string {
  return `${action.replace(/-+(\w?)/g, (_, letter: string) => letter.toUpperCase())}Api`;
}

/** The path of an action, as SPEC 4.1 writes it. */
function pathOf({ basePath }: ApiDeclaration, { kind, name, segment, single }: ActionDeclaration): string {
  const own = segment ?? (kind === 'custom' ? name : null);
  const parts = [basePath, ...(single ? ['{id}'] : []), ...(own === null ? [] : [own])];
  return `${parts.join('/')}.{_format}`;
}

function requirementsOf(
  path: string,
  declared: Readonly<Record<string, string>>,
  idRequirement = defaultIdRequirement,
): Record<string, string> {
  const requirements: Record<string, string> = {};
  const { pattern } = parsePath(path);
  for (const name of [...placeholdersOf(pattern), ...(pattern.formatted ? ['_format'] : [])]) {
    const requirement = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (requirement !== undefined) requirements[name] = requirement;
    else if (name === 'id') requirements[name] = idRequirement;
  }
  return requirements;
}

/** The formats that match a requirement. An invalid requirement is reported with the route. */
function formatsOf(formats: readonly string[], requirement: string | undefined): string[] {
  if (requirement === undefined) return [...formats];
  try {
    return [...formatsMatching(formats, requirement)];
  } catch {
    return [...formats];
  }
}

function freeze(record: RouteRecord): RouteRecord {
  for (const part of [record.methods, record.requirements, record.formats, record.roles]) Object.freeze(part);
  return Object.freeze(record);
}
