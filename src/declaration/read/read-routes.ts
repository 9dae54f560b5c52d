import type { Report } from '../report.ts';
import { crudLoader, type WrittenRoutes } from '../schema/schema.ts';
import { didYouMean, listed } from '../suggest.ts';
import type { Catalog, Exported, Path, RouteEntry } from '../types.ts';

const standardResource = `${crudLoader.service}:${crudLoader.method}`;
const standardEntry = `${crudLoader.entry}: { resource: '${standardResource}', type: service }`;

/** The entries of config/routes.yaml that name a known service. */
export function readRoutes(written: WrittenRoutes, catalog: Catalog, report: Report): readonly RouteEntry[] {
  if (!written.some(({ key }) => key === crudLoader.entry) && !report.touches(['routes', crudLoader.entry])) {
    report.add(['routes'], `the entry "${crudLoader.entry}" is missing; add to config/routes.yaml: ${standardEntry}`);
  }
  const entries: RouteEntry[] = [];
  const takenBy = new Map<string, string>();
  for (const { key, path, value } of written) {
    const name = String(key);
    const { resource } = value;
    if (resource === undefined) continue;
    const [service = '', method = ''] = resource.split(':');
    const at: Path = [...path, 'resource'];
    const problem =
      name === crudLoader.entry
        ? resource !== standardResource &&
          `the resource of "${name}" must be "${standardResource}"; give "${resource}" an entry of its own`
        : serviceProblem(service, method, catalog.services);
    if (problem) report.add(at, problem);
    const taken = takenBy.get(resource);
    if (taken !== undefined)
      report.add(at, `the resource "${resource}" is already loaded by "${taken}"; remove one of the entries`);
    takenBy.set(resource, name);
    if (!report.touches(path)) entries.push({ name, service, method, prefix: value.prefix ?? '', path });
  }
  return entries;
}

/** A service is an object, or a class that Declarest instantiates. */
function hasMethod(service: unknown, method: string): boolean {
  const { prototype } = (service ?? {}) as { prototype?: Record<string, unknown> };
  return typeof ((service as Record<string, unknown> | null)?.[method] ?? prototype?.[method]) === 'function';
}

function serviceProblem(id: string, method: string, services: readonly Exported[]): string | null {
  const known = [crudLoader.service, ...services.map(({ name }) => name)];
  if (!known.includes(id)) return `unknown service "${id}";${didYouMean(id, known)} known: ${listed(known)}`;
  const service = services.find(({ name }) => name === id);
  const exists = service ? hasMethod(service.value, method) : method === crudLoader.method;
  return exists ? null : `the service "${id}" has no method "${method}"`;
}
