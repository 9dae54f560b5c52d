import type { Declaration } from '../declaration/types.ts';
import { allowedMethods } from '../route/match.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Described } from './schemas.ts';

/** Whether our own server serves the document, the docs page and the greeting. */
export function servesDescription({ declaration, production }: Pick<Described, 'declaration' | 'production'>): boolean {
  return declaration.openapi.enabled ?? !production;
}

/** The paths of the document and the docs page, and whether there is a greeting. Paths of the application come first. */
export function placesOf(
  { openapi }: Pick<Declaration, 'openapi'>,
  records: readonly RouteRecord[],
  isTaken: (path: string) => boolean = () => false,
) {
  const free = (path: string | null) =>
    path !== null && allowedMethods(records, path).length === 0 && !isTaken(path) ? path : null;
  const path = free(openapi.path);
  return { path, docs: path === null ? null : free(openapi.docs), home: openapi.greeting && free('/') !== null };
}
