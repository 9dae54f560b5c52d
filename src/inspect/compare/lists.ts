import type { HttpMethod } from '../../declaration/types.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { Declared, Places } from '../places.ts';
import { type Change, closed, type FactsOfSubject, opened } from './changes.ts';
import type { DeclaredFact } from './facts.ts';

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
export function listFacts({ bulk, nested }: ListAccess): Pick<DeclaredFact, 'kind' | 'value' | 'place'>[] {
  return [
    ...(bulk ? [{ kind: 'bulk', value: '', place: bulk.place }] : []),
    ...nested.map(({ association, place, role }) => ({
      kind: 'nested',
      value: role === null ? association : `${association} requires ${role}`,
      place,
    })),
  ];
}

export function listChanges(about: FactsOfSubject): Change[] {
  const lost = about.removed('nested');
  const nameOf = (value: string) => value.split(' ', 1)[0] as string;
  const isKept = (value: string) => about.added('nested').some((now) => nameOf(now.value as string) === nameOf(value));
  return [
    ...about.added('bulk').map(({ place }) => opened(place, about.subject, 'accepts lists now')),
    ...about.removed('bulk').map(() => closed(null, about.subject, 'no longer accepts lists')),
    ...about.added('nested').map(({ place, value }) => {
      const was = lost.find((before) => nameOf(before) === nameOf(value));
      const text = `creates rows of ${value} now${was === undefined ? '' : `, was ${was}`}`;
      // a role where there was none closes; any other change may open
      return was === nameOf(value) ? closed(place, about.subject, text) : opened(place, about.subject, text);
    }),
    ...lost.filter((value) => !isKept(value)).map((value) => closed(null, about.subject, `no longer creates rows of ${value}`)),
  ];
}
