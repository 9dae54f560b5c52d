import type { RouteDescription } from '../../route/describe.ts';
import type { Match } from '../../route/match.ts';
import { aligned } from './layout.ts';

/** `BASE + METHOD`, or where methods differ `GET,HEAD: PUBLIC; POST: BASE`. */
export function rolesText({ methods, roles }: Pick<RouteDescription, 'methods' | 'roles'>): string {
  const byRoles = Map.groupBy(methods, (method) => roles[method]?.join(' + ') || 'PUBLIC');
  if (byRoles.size === 1) return [...byRoles.keys()].join();
  return [...byRoles].map(([text, those]) => `${those.join(',')}: ${text}`).join('; ');
}

/** `id = 1, _format = json` */
export function valuesText({ format, params }: Pick<Match, 'format' | 'params'>): string {
  return Object.entries({ ...params, _format: format })
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ');
}

export function reasonLines(reasons: readonly { name: string; path: string; reason: string }[], answered: boolean): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.map(({ name, path, reason }) => [name, path, reason]);
  return [answered ? 'the others do not:' : 'because:', ...aligned(rows, '  ')];
}
