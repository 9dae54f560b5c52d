import type { HttpMethod } from '../../declaration/types.ts';
import type { RouteDescription } from '../../route/describe.ts';

/** The methods of a route that ask for no role. */
export function publicMethods({ methods, roles }: Pick<RouteDescription, 'methods' | 'roles'>): readonly HttpMethod[] {
  return methods.filter((method) => !roles[method]?.length);
}

/** `BASE + METHOD`, or where methods differ `GET,HEAD: PUBLIC; POST: BASE`. */
export function rolesText({ methods, roles }: Pick<RouteDescription, 'methods' | 'roles'>): string {
  const byRoles = Map.groupBy(methods, (method) => roles[method]?.join(' + ') || 'PUBLIC');
  if (byRoles.size === 1) return [...byRoles.keys()].join();
  return [...byRoles].map(([text, those]) => `${those.join(',')}: ${text}`).join('; ');
}
