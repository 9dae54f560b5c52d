import type { Report } from '../declaration/report.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod, Path } from '../declaration/types.ts';
import { rolesFor } from './guard.ts';
import { rolePrefix } from './role-voter.ts';
import type { VoterRegistry } from './voter-registry.ts';

type Findings = Pick<Report, 'add'>;

/** Reports every role in use for which no voter exists. */
export function checkRoles(apis: readonly ApiDeclaration[], registry: VoterRegistry, findings: Findings): void {
  for (const api of apis) {
    checkRole(api.baseRole, [...api.path, 'base_role'], registry, findings);
    for (const { path, role } of api.nested) checkRole(role, [...path, 'role'], registry, findings);
    for (const action of api.actions) {
      for (const method of methodsWhoseRoleCounts(action)) {
        checkRole(action.roles[method], [...action.path, 'roles', method], registry, findings);
      }
    }
  }
}

export function checkRole(role: string | null | undefined, path: Path, registry: VoterRegistry, findings: Findings): void {
  if (typeof role !== 'string' || registry.isJudged(role)) return;
  const known = registry.knownRoles();
  findings.add(
    path,
    `no voter judges the role "${role}";${didYouMean(role, known)} known: ${listed(known)}. Write one in src/voters: ` +
      `a class that extends Voter, with static roles = ['${role}']; or use a name that starts with ${rolePrefix}`,
  );
}

/** The enabled methods, plus GET if HEAD requires its role: that applies even if GET itself is not enabled. */
function methodsWhoseRoleCounts({ methods, roles }: ActionDeclaration): Iterable<HttpMethod> {
  return new Set(methods.includes('HEAD') && roles.HEAD === undefined ? [...methods, 'GET' as const] : methods);
}

/** Warns of `HEAD: null` if GET has a role. */
export function checkHeadRoles(apis: readonly ApiDeclaration[], warn: Report['warn']): void {
  for (const { baseRole, actions } of apis) {
    for (const { methods, path, roles } of actions) {
      if (!methods.includes('HEAD') || roles.HEAD !== null || roles.GET === baseRole) continue;
      warn(
        [...path, 'roles', 'HEAD'],
        `HEAD does not require "${roles.GET}" as GET does: without that role, callers get the status, length and ETag of what GET would return; ` +
          'leave out "HEAD: null" to guard HEAD like GET',
      );
    }
  }
}

/** If the application requires a role on every route (`security.require_role`), reports the methods without one. */
export function checkPublic(apis: readonly ApiDeclaration[], requireRole: boolean, findings: Findings): void {
  if (!requireRole) return;
  for (const api of apis) {
    for (const action of api.actions) {
      const open = action.methods.filter((method) => rolesFor(action, api.baseRole, method).length === 0);
      if (open.length === 0) continue;
      findings.add(
        action.path,
        `security.require_role is on, and the action "${action.name}" is public for ${open.join(', ')}; ` +
          'set base_role on the API, or a role for each of these methods',
      );
    }
  }
}

/** A route that does not belong to an API: a route-loading service of the application provides it. */
export interface LoadedRoute {
  readonly name: string;
  readonly roles: Readonly<Partial<Record<HttpMethod, readonly string[]>>>;
  readonly source: Path;
}

/** Does the checks of {@link checkRoles} and {@link checkPublic} for loaded routes. */
export function checkLoadedRoutes(
  routes: readonly LoadedRoute[],
  registry: VoterRegistry,
  requireRole: boolean,
  findings: Findings,
): void {
  for (const { name, roles, source } of routes) {
    for (const role of new Set(Object.values(roles).flat())) checkRole(role, source, registry, findings);
    const open = Object.entries(roles).flatMap(([method, needed]) => (needed.length === 0 ? [method] : []));
    if (!requireRole || open.length === 0) continue;
    findings.add(
      source,
      `security.require_role is on, and the route "${name}" is public for ${open.join(', ')}; give it roles: one for all methods, or one for each`,
    );
  }
}
