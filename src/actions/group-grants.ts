import type { Guard, GuardFor } from '../access/guard.ts';
import { type ApiRequest, userOf } from '../access/user.ts';
import type { Mapper } from '../database/mapper.ts';
import type { BoundGroup, DeclaredGroup, GroupsDeclaration } from '../declaration/types.ts';
import { type ActiveGroups, activeGroups, rolesOfGroups } from '../model/groups.ts';
import { FoundEntity } from '../store/entity-store.ts';
import { type RequestState, stateOf } from '../store/request-state.ts';

/** The input for decisions about groups. */
export interface Granting {
  readonly mapper: Mapper;
  readonly guardFor: GuardFor;
  /** The groups that depend on roles, for responses with groups of their own. */
  readonly bound: readonly BoundGroup[];
}

interface BoundRole {
  readonly role: string;
  readonly guard: Guard;
}

/** One set of granted roles: about the row of the action, and about rows inside it. */
interface Granted {
  readonly own: number;
  readonly inside: number;
}

/** Bits of a set. A declared action has at most eight roles, but code of the application can name more groups. */
const mostRoles = 20;

/**
 * Decides which groups of an action apply to a caller. A denied group is not an error: its fields do not exist for the caller. The
 * same decision always returns the same object, so that plans can be kept by it.
 */
export class GroupGrants {
  /** The groups if no group depends on a role, else null. */
  readonly fixed: ActiveGroups | null;
  /** The groups of a caller with every role. */
  readonly all: ActiveGroups;
  /** Whether a voter of the application decides, which may read the row. */
  readonly readsSubject: boolean;
  /** The associations of the row that voters read. */
  readonly loads: readonly string[];
  readonly #declared: GroupsDeclaration;
  readonly #granting: Granting;
  readonly #roles: readonly BoundRole[];
  /** Whether the roles are also checked with a null subject, for rows inside the response. */
  readonly #asksInside: boolean;
  readonly #sets = new Map<number, ActiveGroups>();
  readonly #granted = new Map<ActiveGroups, Granted>();
  readonly #named = new Map<string, GroupGrants>();

  constructor(declared: GroupsDeclaration, granting: Granting, asksInside = true) {
    this.#declared = declared;
    this.#granting = granting;
    this.#asksInside = asksInside;
    const roles = rolesOfGroups([...declared.read, ...declared.write]);
    this.#roles = roles.map((role) => ({ role, guard: granting.guardFor([role]) }));
    this.readsSubject = this.#roles.some(({ guard }) => guard.readsSubject);
    this.loads = this.#roles.flatMap(({ guard }) => guard.loads);
    const every = 2 ** roles.length - 1;
    this.all = this.#set(every, every);
    this.fixed = roles.length === 0 ? this.all : null;
  }

  /** The groups for lists and new rows: the roles are checked with a null subject. */
  ofCollection(request: ApiRequest): ActiveGroups | Promise<ActiveGroups> {
    if (this.readsSubject) return this.#asked(request, null).then((mask) => this.#set(mask, mask));
    const mask = this.#ofUser(request);
    return this.#set(mask, mask);
  }

  /** The groups for a request that was admitted: with the entity of an action that has one. */
  async ofRequest(request: ApiRequest, state: RequestState): Promise<ActiveGroups> {
    const entity = this.readsSubject ? subjectOf(state) : null;
    return entity ? this.ofEntity(request, entity) : this.ofCollection(request);
  }

  /** The groups that apply to every row. Voters that read the row are not called, and count as denying. */
  ofAnyRow(request: ApiRequest): ActiveGroups {
    const mask = this.#ofUser(request);
    return this.#set(mask, mask);
  }

  /** The groups that may apply to a row that is not read yet. Voters that read the row are not called, and count as granting. */
  beforeRow(request: ApiRequest): ActiveGroups | Promise<ActiveGroups> {
    if (!this.readsSubject) return this.ofCollection(request);
    const own = this.#ofUser(request) | this.#ofSubject;
    return this.#asksInside ? this.#asked(request, null).then((inside) => this.#set(own, inside)) : this.#set(own, own);
  }

  /** The groups for one row: the roles are checked with its entity. */
  async ofEntity(request: ApiRequest, entity: object): Promise<ActiveGroups> {
    const own = await this.#asked(request, entity);
    return this.#set(own, this.#asksInside ? await this.#asked(request, null) : own);
  }

  /** Every result of {@link ofEntity} that is possible after {@link beforeRow}. */
  within(before: ActiveGroups): readonly ActiveGroups[] {
    const { inside, own } = this.#granted.get(before) as Granted;
    const sets = new Set<ActiveGroups>();
    for (let mask = 0; mask < 2 ** this.#roles.length; mask++) {
      if ((mask | this.#ofSubject) === own) sets.add(this.#set(mask, this.#asksInside ? inside : mask));
    }
    return [...sets];
  }

  /** The same for groups that code of the application names. */
  named(names: readonly string[]): GroupGrants {
    const key = JSON.stringify(names);
    const { bound } = this.#granting;
    const groups = names.map((name): DeclaredGroup => {
      return { name, role: bound.find((group) => group.name === name)?.role ?? null, path: null };
    });
    const known = this.#named.get(key) ?? new GroupGrants({ read: groups, write: groups }, this.#granting);
    // the code of an application names only a few sets of groups
    this.#named.set(key, known);
    return known;
  }

  /** The roles whose voters may read the row. */
  get #ofSubject(): number {
    return this.#roles.reduce((mask, { guard }, i) => (guard.readsSubject ? mask | (1 << i) : mask), 0);
  }

  /** The granted roles among those that depend on the roles of the user alone. */
  #ofUser(request: ApiRequest): number {
    const user = userOf(request);
    let mask = 0;
    for (let i = 0; i < this.#roles.length; i++) {
      const { guard } = this.#roles[i] as BoundRole;
      if (!guard.readsSubject && guard.grants(null, user, request) === true) mask |= 1 << i;
    }
    return mask;
  }

  async #asked(request: ApiRequest, subject: object | null): Promise<number> {
    const user = userOf(request);
    const votes = stateOf(request, this.#granting.mapper).groupVotesOn(subject);
    let mask = this.#ofUser(request);
    for (const [i, { guard, role }] of this.#roles.entries()) {
      if (!guard.readsSubject) continue;
      // a voter is asked once per request and row, and once without a row, however often the result is needed
      const known = votes.get(role) ?? guard.grants(subject, user, request);
      votes.set(role, known);
      if (await known) mask |= 1 << i;
    }
    return mask;
  }

  #set(own: number, inside: number): ActiveGroups {
    const key = own * 2 ** mostRoles + inside;
    let set = this.#sets.get(key);
    if (!set) {
      const among = (mask: number) => (role: string) => (mask & (1 << this.#roles.findIndex((one) => one.role === role))) !== 0;
      set = activeGroups(this.#declared, among(own), among(inside));
      this.#sets.set(key, set);
      this.#granted.set(set, { own, inside });
    }
    return set;
  }
}

/** The entity that a request is about, if it was read as one. */
export function subjectOf({ admission, admitted }: RequestState): object | null {
  return admitted?.entity ?? (admission?.found instanceof FoundEntity ? admission.found.entity : null);
}

/** Makes something once for each set of groups. */
export function perGroups<Made>(make: (groups: ActiveGroups) => Made): (groups: ActiveGroups) => Made {
  const made = new Map<ActiveGroups, Made>();
  return (groups) => {
    const known = made.get(groups);
    if (known !== undefined) return known;
    const value = make(groups);
    made.set(groups, value);
    return value;
  };
}
