import type { User } from './user.ts';

/** What authenticated a user. Names of one kind say nothing about those of another. */
const kinds = new WeakMap<User, string>();

/** Notes the kind of credential that a user was found by. */
export function noteKind(user: User, kind: string): User {
  kinds.set(user, kind);
  return user;
}

/** What tells a user from all others, with the kind: an API key `bot` and a token with `sub: bot` are two callers. */
export function identityOf(user: User): string {
  return `user ${kinds.get(user) ?? 'given'} ${typeof user.id} ${user.id}`;
}
