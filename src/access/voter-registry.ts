import { type Strategy, strategies } from './decision.ts';
import { RoleVoter, rolePrefix } from './role-voter.ts';
import type { Voter, VoterClass } from './voter.ts';

/** The voters of each role, and how their votes are combined. Built once, at startup. */
export interface VoterRegistry {
  readonly strategy: Strategy;
  /** The voters of a role, in calling order. A role without voters is granted to nobody. */
  votersFor(role: string): readonly Voter[];
  /** Whether a role has a voter. A voter that could not be constructed counts: its own error is reported instead. */
  isJudged(role: string): boolean;
  /** The role names of the voters and of the hierarchy. */
  knownRoles(): readonly string[];
}

/**
 * Builds the registry. The built-in voter of `ROLE_…` names comes after the application's own voters: it never abstains, so
 * under the strategy `priority` voters after it would never be called.
 */
export function createVoterRegistry({
  voters,
  strategy,
  roleHierarchy,
  unmade = [],
}: {
  readonly voters: readonly Voter[];
  readonly strategy: Strategy;
  readonly roleHierarchy: Readonly<Record<string, readonly string[]>>;
  /** The roles of voters that could not be constructed. */
  readonly unmade?: readonly string[];
}): VoterRegistry {
  if (!strategies.includes(strategy)) {
    throw new Error(`unknown strategy "${strategy}"; use one of: ${strategies.join(', ')}`);
  }
  const judged = voters.flatMap((voter) => [...new Set(rolesOf(voter))].map((role) => ({ role, voter })));
  const byRole = Map.groupBy(judged, ({ role }) => role);
  const hierarchyRoles = Object.entries(roleHierarchy).flatMap(([role, included]) => [role, ...included]);
  const known = new Set([...byRole.keys(), ...hierarchyRoles.filter((role) => role.startsWith(rolePrefix))]);
  const sorted = Object.freeze([...known].sort());
  const roleVoter = new RoleVoter(roleHierarchy);
  return Object.freeze({
    strategy,
    votersFor: (role: string) => {
      const panel = (byRole.get(role) ?? []).map(({ voter }) => voter);
      return Object.freeze(role.startsWith(rolePrefix) ? [...panel, roleVoter] : panel);
    },
    isJudged: (role: string) => byRole.has(role) || role.startsWith(rolePrefix) || unmade.includes(role),
    knownRoles: () => sorted,
  });
}

function rolesOf(voter: Voter): readonly string[] {
  const { roles, name } = voter.constructor as unknown as VoterClass;
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string' && role !== '')) {
    throw new Error(`the voter ${name} must list its roles: static roles = ['PERSON_SEE']`);
  }
  return roles;
}
