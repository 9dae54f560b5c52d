import { crudLoader } from './schema.ts';
import type { Path, Place } from './vocabulary.ts';

export interface ReportedError {
  readonly place: Place | null;
  readonly path: Path;
  readonly message: string;
}

/** A declaration as it was written, and where each part of it was. */
export interface Source {
  readonly value: { readonly app_main: unknown; readonly routes: unknown };
  /** What was already found wrong while reading. */
  readonly errors: readonly ReportedError[];
  /** Where the value (or its key) was written; if it was not, where the nearest value around it was. */
  placeOf(path: Path, at?: 'key' | 'value'): Place | null;
}

/** The declaration given in code. Without `routes`, the generated ones are loaded. */
export function codeSource({ app_main, routes }: { app_main?: unknown; routes?: unknown }): Source {
  const standard = { [crudLoader.entry]: { resource: `${crudLoader.service}:${crudLoader.method}`, type: 'service' } };
  return { value: { app_main, routes: routes ?? standard }, errors: [], placeOf: () => null };
}

/** How to name a part that has no place: `app_main.apis.person.class`. */
export function label(path: Path): string {
  return path.join('.') || 'config';
}
