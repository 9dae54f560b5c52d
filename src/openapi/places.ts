import type { Declaration } from '../declaration/types.ts';
import { allowedMethods } from '../route/match.ts';
import { parsePath } from '../route/pattern.ts';
import type { RouteRecord } from '../route/record.ts';
import { requirementSource } from '../route/requirement.ts';
import type { Described } from './schemas/schemas.ts';

/** Where the explorer is. Its client-side routes are below this path. */
const explorerPath = '/explorer';

/** Which descriptions of an application are served. The document is served with either of them. */
export interface ServedParts {
  /** The docs page and the greeting. */
  readonly pages: boolean;
  readonly explorer: boolean;
}

/** Decides what is served. `own` says whether Declarest is the server: a host may have its own pages at these paths. */
export function servedParts(
  { declaration, production }: Pick<Described, 'declaration' | 'production'>,
  own: boolean,
): ServedParts {
  const { explorer, openapi } = declaration;
  const pages = openapi.enabled ?? (own && !production);
  return { pages, explorer: explorer.enabled ?? (pages && openapi.docs !== null) };
}

/** The paths of the document and its pages, null if they are not served. Paths of the application come first. */
export function placesOf(
  { openapi }: Pick<Declaration, 'openapi'>,
  records: readonly RouteRecord[],
  parts: ServedParts,
  isTaken: (path: string) => boolean = () => false,
) {
  const free = (path: string | null) =>
    path !== null && allowedMethods(records, path).length === 0 && !isTaken(path) ? path : null;
  const path = free(openapi.path);
  const explorer = parts.explorer && path !== null && !records.some(mayBeBelowExplorer) ? free(explorerPath) : null;
  return {
    path,
    docs: parts.pages && path !== null ? free(openapi.docs) : null,
    explorer,
    home: parts.pages && openapi.greeting && free('/') !== null,
  };
}

/** Whether a route may have a path below that of the explorer, which would hide it. */
function mayBeBelowExplorer({ path, requirements }: RouteRecord): boolean {
  const [first, ...others] = parsePath(path).pattern.segments;
  const name = explorerPath.slice(1);
  if (first === undefined || others.length === 0) return false;
  if ('text' in first) return first.text === name;
  const requirement = Object.hasOwn(requirements, first.placeholder) ? requirements[first.placeholder] : undefined;
  return new RegExp(`^(?:${requirementSource(requirement)})$`).test(name);
}
