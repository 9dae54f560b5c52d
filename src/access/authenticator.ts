import type { FastifyRequest } from 'fastify';
import { isPromiseLike } from '../database/promise-like.ts';
import { bearerChallenge, invalidCredentials, singleHeader } from './credentials.ts';
import { isNoted, noteKind } from './identity.ts';
import type { User } from './user.ts';

/** Symbols, so that they cannot collide with members of an application's class. */
export const kindOfUsers = Symbol('kind of users');
export const readHeaders = Symbol('headers that are read');

/**
 * Finds the user of a request from its credentials.
 *
 * @example
 * class SessionAuthenticator extends Authenticator {
 *   async authenticate(request: FastifyRequest) {
 *     const session = request.headers['x-session'];
 *     if (session === undefined) return null;
 *     return (await findSession(session)) ?? Promise.reject(problem('invalid_credentials', { reason: 'no such session' }));
 *   }
 * }
 */
export abstract class Authenticator {
  /** The user; null if the request has no credential of this kind; throws `invalid_credentials` if it has a wrong one. */
  abstract authenticate(request: FastifyRequest): User | null | Promise<User | null>;

  /** The value of `WWW-Authenticate` in 401 responses. */
  challenge(): string {
    return bearerChallenge;
  }

  /** The headers that it reads; they are not known for authenticators of the application. */
  get [readHeaders](): readonly string[] {
    return [];
  }

  /** Distinguishes its users from those of other authenticators; the same in every process. */
  get [kindOfUsers](): string {
    return `class ${this.constructor.name}`;
  }
}

export type AuthenticatorClass = new () => Authenticator;

/** Whether an authenticator is code of the application. */
export function isOfApplication(authenticator: Authenticator): boolean {
  return authenticator[kindOfUsers].startsWith('class ');
}

/** Whether a module's export is an authenticator class (and not {@link Authenticator} itself). */
export function isAuthenticatorClass(value: unknown): value is AuthenticatorClass {
  return typeof value === 'function' && value.prototype instanceof Authenticator;
}

/** The `WWW-Authenticate` of an application: that of its first authenticator. */
export function challengeOf(authenticators: readonly Authenticator[]): string {
  return authenticators[0]?.challenge() ?? bearerChallenge;
}

/** The headers that identify the caller; none without authenticators. */
export function credentialHeaders(authenticators: readonly Authenticator[]): readonly string[] {
  // always relevant, because a scheme that no authenticator supports is rejected
  const all = authenticators.length > 0 ? ['Authorization'] : [];
  return [...all, ...authenticators.flatMap((authenticator) => authenticator[readHeaders])];
}

/**
 * The user of the first authenticator that finds one, or null without any credential. Every authenticator is called, because a
 * wrong credential returns 401 even beside a right one. So does an `Authorization` header that none of them supports.
 */
export function authenticateWith(
  authenticators: readonly Authenticator[],
  request: FastifyRequest,
  start = 0,
  foundBefore: User | null = null,
): User | null | Promise<User | null> {
  if (authenticators.length === 0) return null;
  let found = foundBefore;
  for (let index = start; index < authenticators.length; index++) {
    const authenticator = authenticators[index] as Authenticator;
    const result: unknown = authenticator.authenticate(request);
    if (isPromiseLike(result)) {
      return Promise.resolve(result).then((late) => {
        const user = toUser(late, authenticator);
        return authenticateWith(authenticators, request, index + 1, found ?? user);
      });
    }
    const user = toUser(result, authenticator);
    found ??= user;
  }
  if (found === null && singleHeader(request, 'authorization', challengeOf(authenticators)) !== undefined) {
    throw invalidCredentials('the scheme of the Authorization header is not supported', challengeOf(authenticators));
  }
  return found;
}

function toUser(result: unknown, authenticator: Authenticator): User | null {
  if (result === null) return null;
  const kind = authenticator[kindOfUsers];
  // frozen since it was checked
  if (isNoted(result, kind)) return result;
  if (!isUser(result)) {
    throw new Error(
      `the authenticator ${authenticator.constructor.name} must return null or a user { id, roles }: ` +
        'id is a string or a number, roles is a list of strings',
    );
  }
  return noteKind(freezeUser(result), kind);
}

/** Whether a value is a user: an id that is a string or a number, and roles that are a list of strings. */
export function isUser(value: unknown): value is User {
  if (typeof value !== 'object' || value === null) return false;
  const { id, roles } = value as Readonly<Record<string, unknown>>;
  return (
    (typeof id === 'string' || Number.isFinite(id)) && Array.isArray(roles) && roles.every((role) => typeof role === 'string')
  );
}

/**
 * Freezes a user, so that no voter or handler can change its id or roles. A plain object is copied, because the application may
 * keep using its own. An object of a class is frozen itself, because a copy would lose its private state.
 */
function freezeUser(user: User): User {
  if (Object.isFrozen(user) && Object.isFrozen(user.roles)) return user;
  if (Object.getPrototypeOf(user) === Object.prototype) {
    return Object.freeze({ ...user, roles: Object.freeze([...user.roles]) });
  }
  Object.freeze(user.roles);
  return Object.freeze(user);
}
