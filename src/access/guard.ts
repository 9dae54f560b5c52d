import type { FastifyRequest } from 'fastify';
import type { ActionDeclaration, HttpMethod } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { bearerChallenge } from './credentials.ts';
import { poll } from './decision.ts';
import { RoleVoter } from './role-voter.ts';
import type { User } from './user.ts';
import { loadsOf } from './voter.ts';
import type { VoterRegistry } from './voter-registry.ts';

/** The access check of one route and method, with its voters looked up. It keeps no state between checks. */
export interface Guard {
  /** In the order they are checked. */
  readonly roles: readonly string[];
  readonly public: boolean;
  /** Whether a voter of the application takes part: it may read the subject, which the built-in voter never does. */
  readonly readsSubject: boolean;
  /** The associations of the subject that voters read. */
  readonly loads: readonly string[];
  /** Throws 401 without a user, or 403 with one, if access is denied; rejects instead if a voter is asynchronous. */
  check(subject: unknown, user: User | null, request: FastifyRequest): void | Promise<void>;
  /** The same decision as a value: for groups of fields, whose denial is not an error. */
  grants(subject: unknown, user: User | null, request: FastifyRequest): boolean | Promise<boolean>;
}

export type GuardFor = (roles: readonly string[]) => Guard;

const publicGuard: Guard = Object.freeze({
  roles: Object.freeze([]),
  public: true,
  readsSubject: false,
  loads: Object.freeze([]),
  check: () => undefined,
  grants: () => true,
});

/** The guard that requires all of the roles; without roles, everybody passes. */
export function compileGuard(roles: readonly string[], registry: VoterRegistry, challenge: string = bearerChallenge): Guard {
  if (roles.length === 0) return publicGuard;
  const { strategy } = registry;
  const panels = roles.map((role) => ({ role, voters: registry.votersFor(role) }));

  function check(subject: unknown, user: User | null, request: FastifyRequest, start = 0): undefined | Promise<undefined> {
    for (let index = start; index < panels.length; index++) {
      const { role, voters } = panels[index] as (typeof panels)[number];
      const granted = poll(strategy, voters, { role, subject, user, request });
      if (typeof granted !== 'boolean') {
        return granted.then((late) => {
          if (!late) throw denied(user, challenge);
          return check(subject, user, request, index + 1);
        });
      }
      if (!granted) throw denied(user, challenge);
    }
    return undefined;
  }

  function grants(subject: unknown, user: User | null, request: FastifyRequest, start = 0): boolean | Promise<boolean> {
    for (let index = start; index < panels.length; index++) {
      const { role, voters } = panels[index] as (typeof panels)[number];
      const granted = poll(strategy, voters, { role, subject, user, request });
      if (typeof granted !== 'boolean') return granted.then((late) => late && grants(subject, user, request, index + 1));
      if (!granted) return false;
    }
    return true;
  }

  return Object.freeze({
    roles: Object.freeze([...roles]),
    public: false,
    readsSubject: panels.some(({ voters }) => voters.some((voter) => !(voter instanceof RoleVoter))),
    loads: Object.freeze([...new Set(panels.flatMap(({ voters }) => voters.flatMap(loadsOf)))]),
    check: (subject: unknown, user: User | null, request: FastifyRequest) => check(subject, user, request),
    grants: (subject: unknown, user: User | null, request: FastifyRequest) => grants(subject, user, request),
  });
}

function denied(user: User | null, challenge: string): Problem {
  return user === null
    ? problem('authentication_required', {}, { headers: { 'WWW-Authenticate': challenge } })
    : problem('access_denied');
}

/**
 * The roles that a method requires, all of them: the base role, then the method's own. HEAD reveals the status of GET, so it
 * requires the role of GET unless it declares its own; null leaves only the base role.
 */
export function rolesFor(
  action: Pick<ActionDeclaration, 'roles'>,
  baseRole: string | null,
  method: HttpMethod,
): readonly string[] {
  const { roles } = action;
  const own = method === 'HEAD' && roles.HEAD === undefined ? roles.GET : roles[method];
  return Object.freeze([...new Set([baseRole, own].filter((role) => typeof role === 'string'))]);
}
