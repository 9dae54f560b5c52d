import type { HttpMethod } from '../../declaration/types.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { Declared, Places } from '../places.ts';

/** The lists that a method accepts, and the rows that it creates together with their owner. */
export interface ListAccess {
  /** The maximum of rows in a list; null if the method accepts no list. */
  readonly bulk: Declared<number> | null;
  readonly nested: readonly NestedAccess[];
}

export interface NestedAccess {
  /** `vaccinations.doses` */
  readonly association: string;
  /** The role that creating such rows requires, besides those of the method; null if there is none. */
  readonly role: string | null;
  readonly place: string;
}

export function listsOf({ action, api }: RouteRecord, method: HttpMethod, places: Places): ListAccess {
  const { bulk = null } = action ?? {};
  const accepted = bulk?.methods.some((each) => each === method) ? bulk : null;
  const creates = action?.kind === 'index' && method === 'POST';
  return {
    bulk: action && accepted ? { value: accepted.maxItems, place: places.ofConfig([...action.path, 'bulk', method]) } : null,
    nested: (creates ? (api?.nested ?? []) : []).map(({ names, path, role }) => ({
      association: names.join('.'),
      role,
      place: places.ofConfig(path),
    })),
  };
}

/** The place that enables a method for lists only; null if it is enabled like others. */
export function methodPlace({ action }: RouteRecord, method: HttpMethod, places: Places): string | null {
  const { bulk = null } = action ?? {};
  if (!action || !bulk?.methods.some((each) => each === method) || (method === 'POST' && bulk.single)) return null;
  return places.ofConfig([...action.path, 'bulk', method]);
}

/** The facts of a baseline: `bulk`, and `nested vaccinations requires MEDICAL`. */
export function listFacts({
  bulk,
  nested,
}: ListAccess): { readonly kind: string; readonly value: string; readonly place: string }[] {
  return [
    ...(bulk ? [{ kind: 'bulk', value: '', place: bulk.place }] : []),
    ...nested.map(({ association, place, role }) => ({
      kind: 'nested',
      value: role === null ? association : `${association} requires ${role}`,
      place,
    })),
  ];
}
