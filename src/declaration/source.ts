import { crudLoader } from './schema/schema.ts';
import type { Path, Place } from './vocabulary.ts';

export interface ReportedError {
  readonly place: Place | null;
  readonly path: Path;
  readonly message: string;
}

/** A declaration as it was written, with the place of each part. */
export interface Source {
  readonly value: { readonly app_main: unknown; readonly routes: unknown };
  /** Errors that were found while reading. */
  readonly errors: readonly ReportedError[];
  /** The place of the value or its key; if it was not written, that of the nearest value around it. */
  placeOf(path: Path, at?: 'key' | 'value'): Place | null;
}

/** The declaration given in code. Without `routes`, the generated ones are loaded. */
export function codeSource({ app_main, routes }: { app_main?: unknown; routes?: unknown }): Source {
  const standard = { [crudLoader.entry]: { resource: `${crudLoader.service}:${crudLoader.method}`, type: 'service' } };
  return { value: { app_main, routes: routes ?? standard }, errors: [], placeOf: () => null };
}

/** The name of a part without a place: `app_main.apis.person.class`. */
export function label(path: Path): string {
  return path.join('.') || 'config';
}
