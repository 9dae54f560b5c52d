import type { User } from '../../access/user.ts';
import type { AccessMatrix } from '../compare/matrix.ts';
import type { TestUser } from './test-client.ts';

/** Somebody who calls: the user as the application comes to know them, or null for a caller who says nothing about themselves. */
export interface Actor {
  readonly title: string;
  readonly caller: TestUser | null;
  readonly user: User | null;
}

/** Who calls each route: nobody in particular, each role that is asked for anywhere alone, all of them, and the given ones. */
export function actorsOf(
  { routes }: AccessMatrix,
  given: Readonly<Record<string, TestUser>>,
  userId: string | number,
): readonly Actor[] {
  const roles = [...new Set(routes.flatMap((route) => route.roles.map(({ role }) => role)))].sort();
  return [
    { title: 'anonymous', caller: null, user: null },
    ...roles.map((role) => actor(`a user with ${role} alone`, { id: userId, roles: [role] })),
    ...(roles.length > 1 ? [actor('a user with all roles', { id: userId, roles })] : []),
    ...Object.entries(given).map(([name, user]) => actor(name, user)),
  ];
}

/** A token carries the id as text, and every further claim as JSON. */
function actor(title: string, caller: TestUser): Actor {
  const { id, roles = [], ...claims } = caller;
  const carried = JSON.parse(JSON.stringify(claims)) as Record<string, unknown>;
  return { title, caller, user: Object.freeze({ ...carried, id: String(id), roles: Object.freeze([...roles]) }) };
}
