import { isClass } from '../declaration/modules/modules.ts';
import type { Creatable, Create } from '../declaration/names/create.ts';
import type { Report } from '../declaration/report.ts';
import { crudLoader } from '../declaration/schema/schema.ts';
import { type Catalog, type Declaration, httpMethods, type RouteEntry } from '../declaration/types.ts';
import { type IdRequirementOf, type RouteDefinition, type RouteRecord, recordOfDefinition, recordsOf } from './record.ts';

/** The routes of all route-loading services in the routing configuration. */
export async function loadRoutes(
  declaration: Declaration,
  catalog: Catalog,
  create: Create,
  report: Report,
  idRequirementOf: IdRequirementOf = () => null,
): Promise<readonly RouteRecord[]> {
  const records: RouteRecord[] = [];
  const isOwn = ({ service }: RouteEntry) => service === crudLoader.service;
  for (const entry of declaration.routes)
    records.push(
      ...(isOwn(entry)
        ? recordsOf(declaration, idRequirementOf)
        : await loadDefinitions(entry, catalog, declaration, create, report)),
    );
  // without this entry the application does not start, but errors in its routes are reported as well
  if (!declaration.routes.some(isOwn)) records.push(...recordsOf(declaration, idRequirementOf));
  return Object.freeze(records);
}

/** The routes of a service of the application. */
async function loadDefinitions(
  { method, path, prefix, service: controller }: RouteEntry,
  catalog: Catalog,
  { formats }: Declaration,
  create: Create,
  report: Report,
): Promise<RouteRecord[]> {
  const refuse = (message: string) => {
    report.add([...path, 'resource'], message);
    return [];
  };
  const expected = `${controller}:${method} must return a list of { name, path, methods, handler }`;
  try {
    const service = instanceOf(create, catalog.services.findLast(({ name }) => name === controller)?.value);
    const load = service?.[method];
    if (typeof load !== 'function') return refuse(`the service ${controller} has no method ${method}`);
    const loaded: unknown = await load.call(service, { formats });
    if (!Array.isArray(loaded)) return refuse(expected);
    return loaded.flatMap((given: unknown, position) => {
      const trouble = definitionTrouble(given);
      if (trouble !== null) return refuse(`${expected}, and in [${position}] ${trouble}`);
      return recordOfDefinition(given as RouteDefinition, { formats, controller, prefix, source: path });
    });
  } catch (error) {
    return refuse(`${controller}:${method} failed: ${(error as Error)?.message ?? error}`);
  }
}

/** The error in a route of a service, or null. An invalid role must be an error: ignoring it would make the route public. */
function definitionTrouble(given: unknown): string | null {
  const { name, path, methods, roles, requirements, description, hidden, handler } = (given ?? {}) as Partial<
    Record<keyof RouteDefinition, unknown>
  >;
  const known: readonly unknown[] = httpMethods;
  const isText = (value: unknown) => typeof value === 'string' && value !== '';
  const isMethods = Array.isArray(methods) && methods.length > 0 && methods.every((method) => known.includes(method));
  const byMethod = (method: string, role: unknown) => known.includes(method) && (role === null || isText(role));
  const rules: readonly (readonly [boolean, string])[] = [
    [isText(name), '"name" must be a string'],
    [typeof path === 'string' && path.startsWith('/'), '"path" must be a string that begins with a slash'],
    [isMethods, `"methods" must be a list of one or more of: ${httpMethods.join(', ')}`],
    [typeof handler === 'function', '"handler" must be a function'],
    [
      requirements === undefined || isMapOf(requirements, (_, value) => typeof value === 'string'),
      '"requirements" must be a mapping of regular expressions by placeholder',
    ],
    [['undefined', 'string'].includes(typeof description), '"description" must be a string'],
    [['undefined', 'boolean'].includes(typeof hidden), '"hidden" must be true or false'],
    [
      roles === undefined || roles === null || isText(roles) || isMapOf(roles, byMethod),
      `"roles" must be the name of a role, or a mapping of role names by method: ${httpMethods.join(', ')}`,
    ],
  ];
  return rules.find(([holds]) => !holds)?.[1] ?? null;
}

function isMapOf(value: unknown, holds: (key: string, value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, item]) => holds(key, item));
}

function instanceOf(create: Create, service: unknown): Record<string, unknown> | undefined {
  return (isClass(service) ? create(service as Creatable) : service) as Record<string, unknown> | undefined;
}
