import { didYouMean, listed } from '../declaration/suggest.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod, Path } from '../declaration/types.ts';
import { rolesFor } from './guard.ts';
import { rolePrefix } from './role-voter.ts';
import type { VoterRegistry } from './voter-registry.ts';

/** Takes what is wrong with a declaration, and where. */
export interface Findings {
  add(path: Path, message: string): void;
}

/** Reports every role in use for which no voter exists. */
export function checkRoles(apis: readonly ApiDeclaration[], registry: VoterRegistry, findings: Findings): void {
  const check = (role: string | null | undefined, path: Path) => {
    if (typeof role !== 'string' || registry.votersFor(role).length > 0) return;
    const known = registry.knownRoles();
    findings.add(
      path,
      `no voter judges the role "${role}";${didYouMean(role, known)} known: ${listed(known)}. Write one in src/voters: ` +
        `a class that extends Voter, with static roles = ['${role}']; or use a name that starts with ${rolePrefix}`,
    );
  };
  for (const api of apis) {
    check(api.baseRole, [...api.path, 'base_role']);
    for (const action of api.actions) {
      for (const method of methodsWhoseRoleCounts(action)) check(action.roles[method], [...action.path, 'roles', method]);
    }
  }
}

/** The enabled methods, and GET beside HEAD, which is guarded by the role of GET even where GET itself is not enabled. */
function methodsWhoseRoleCounts({ methods }: ActionDeclaration): Iterable<HttpMethod> {
  return new Set(methods.includes('HEAD') ? [...methods, 'GET' as const] : methods);
}

/** Where the application wants a role on every route (`security.require_role`), reports the methods that have none. */
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
