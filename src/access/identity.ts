import type { User } from './user.ts';

/** The kind of credential of each user. The same id of two kinds belongs to two users. */
const kinds = new WeakMap<User, string>();

/** Notes the kind of credential that authenticated a user. */
export function noteKind(user: User, kind: string): User {
  kinds.set(user, kind);
  return user;
}

/** Whether a user was authenticated by this kind of credential before: a token or key that is known has the same user object. */
export function isNoted(user: unknown, kind: string): user is User {
  return typeof user === 'object' && user !== null && kinds.get(user as User) === kind;
}

/** Identifies a user by id and kind of credential: an API key `bot` and a token with `sub: bot` are two callers. */
export function identityOf(user: User): string {
  return `user ${kinds.get(user) ?? 'given'} ${typeof user.id} ${user.id}`;
}
