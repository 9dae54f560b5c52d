import type { Declaration } from '../declaration/types.ts';
import { allowedMethods } from '../route/match.ts';
import type { RouteRecord } from '../route/record.ts';

/** Where an application tells of itself, seen from where it is mounted. */
export interface Places {
  /** The document; null: nowhere. */
  readonly path: string | null;
  readonly docs: string | null;
  readonly home: boolean;
}

/** Whether a server of ours serves the document, the docs page and the greeting. */
export function tellsOfItself({
  declaration,
  production,
}: {
  readonly declaration: Pick<Declaration, 'openapi'>;
  readonly production: boolean;
}): boolean {
  return declaration.openapi.enabled ?? !production;
}

/** What the application answers itself stays its own, and so does what else is taken. */
export function placesOf(
  { openapi }: Pick<Declaration, 'openapi'>,
  records: readonly RouteRecord[],
  isTaken: (path: string) => boolean = () => false,
): Places {
  const free = (path: string | null) =>
    path !== null && allowedMethods(records, path).length === 0 && !isTaken(path) ? path : null;
  const path = free(openapi.path);
  return { path, docs: path === null ? null : free(openapi.docs), home: openapi.greeting && free('/') !== null };
}
