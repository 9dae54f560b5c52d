import type { FastifyRequest } from 'fastify';
import type { ActionDeclaration, HttpMethod } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { bearerChallenge } from './credentials.ts';
import { poll } from './decision.ts';
import { RoleVoter } from './role-voter.ts';
import type { User } from './user.ts';
import type { VoterRegistry } from './voter-registry.ts';

/** The access check of one route and method, its voters looked up. It remembers nothing from one check to the next. */
export interface Guard {
  /** In the order they are checked. */
  readonly roles: readonly string[];
  readonly public: boolean;
  /** Whether a voter of the application is asked, which may look at the subject; the built-in one never does. */
  readonly readsSubject: boolean;
  /** Passes, or throws 401 without a user and 403 with one. Throws at once, or rejects where a voter answers later. */
  check(subject: unknown, user: User | null, request: FastifyRequest): void | Promise<void>;
}

export type GuardFor = (roles: readonly string[]) => Guard;

const publicGuard: Guard = Object.freeze({
  roles: Object.freeze([]),
  public: true,
  readsSubject: false,
  check: () => undefined,
});

/** The guard that requires every one of the roles; without roles, the one that lets everybody pass. */
export function compileGuard(roles: readonly string[], registry: VoterRegistry, challenge: string = bearerChallenge): Guard {
  if (roles.length === 0) return publicGuard;
  const { strategy } = registry;
  const panels = roles.map((role) => ({ role, voters: registry.votersFor(role) }));

  function checkFrom(
    start: number,
    subject: unknown,
    user: User | null,
    request: FastifyRequest,
  ): undefined | Promise<undefined> {
    for (let index = start; index < panels.length; index++) {
      const { role, voters } = panels[index] as (typeof panels)[number];
      const granted = poll(strategy, voters, { role, subject, user, request });
      if (typeof granted !== 'boolean') {
        return granted.then((late) => {
          if (!late) throw denied(user, challenge);
          return checkFrom(index + 1, subject, user, request);
        });
      }
      if (!granted) throw denied(user, challenge);
    }
    return undefined;
  }

  return Object.freeze({
    roles: Object.freeze([...roles]),
    public: false,
    readsSubject: panels.some(({ voters }) => voters.some((voter) => !(voter instanceof RoleVoter))),
    check: (subject: unknown, user: User | null, request: FastifyRequest) => checkFrom(0, subject, user, request),
  });
}

function denied(user: User | null, challenge: string): Problem {
  return user === null
    ? problem('authentication_required', {}, { headers: { 'WWW-Authenticate': challenge } })
    : problem('access_denied');
}

/**
 * The roles a method needs, all of them: the base role, then the method's own. HEAD tells whether GET would have answered,
 * so it needs what GET needs, and its own role besides.
 */
export function rolesFor(
  action: Pick<ActionDeclaration, 'roles'>,
  baseRole: string | null,
  method: HttpMethod,
): readonly string[] {
  const own = method === 'HEAD' ? [action.roles.GET, action.roles.HEAD] : [action.roles[method]];
  return Object.freeze([...new Set([baseRole, ...own].filter((role) => typeof role === 'string'))]);
}
