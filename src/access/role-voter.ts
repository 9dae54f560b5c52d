import type { User } from './user.ts';
import { type Vote, Voter } from './voter.ts';

/** Role names with this prefix are checked against the user's own roles. */
export const rolePrefix = 'ROLE_';

/** The built-in voter of every `ROLE_…` name: grants it to users who hold it, directly or through the role hierarchy. */
export class RoleVoter extends Voter {
  /** For each role, all roles that include it. Built once, so that a vote takes only a few lookups. */
  readonly #holders: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(hierarchy: Readonly<Record<string, readonly string[]>>) {
    super();
    this.#holders = invert(hierarchy);
  }

  override vote(role: string, _subject: unknown, user: User | null): Vote {
    if (user === null) return 'deny';
    if (user.roles.includes(role)) return 'grant';
    const holders = this.#holders.get(role);
    return holders !== undefined && user.roles.some((held) => holders.has(held)) ? 'grant' : 'deny';
  }
}

/** The transitive closure of the hierarchy, from the included role to the roles that include it. */
function invert(hierarchy: Readonly<Record<string, readonly string[]>>): Map<string, Set<string>> {
  const includes = new Map(Object.entries(hierarchy));
  const holders = new Map<string, Set<string>>();
  for (const holder of includes.keys()) {
    const reached = new Set([holder]);
    // The loop also visits roles that it adds. A set holds each role once, so a cycle ends by itself.
    for (const role of reached) for (const included of includes.get(role) ?? []) reached.add(included);
    for (const role of reached) holders.set(role, (holders.get(role) ?? new Set()).add(holder));
  }
  return holders;
}
