import type { BoundGroup, DeclaredGroup } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Places } from './places.ts';

/** A group of a route. */
export type GroupAccess = ReturnType<typeof groupAccess>;

/** The groups that a route reads and writes; none for routes that a service loads. */
export function groupsOfRoute({ action, api }: RouteRecord, bound: readonly BoundGroup[], places: Places) {
  const of = (direction: 'read' | 'write') => {
    const unwritten = [...(api?.path ?? []), 'groups', direction];
    return (action?.groups[direction] ?? []).map((group) =>
      groupAccess(group, places.ofConfig(group.path ?? unwritten), bound, places),
    );
  };
  return { read: of('read'), write: of('write') };
}

function groupAccess({ name, role }: DeclaredGroup, place: string, bound: readonly BoundGroup[], places: Places) {
  return {
    name,
    /** The role that a caller needs; null: the group applies to all callers with access to the route. */
    role,
    /** The place that gives the route this group. */
    place,
    /** The place that decides about the role. */
    rolePlace: bound.length === 0 ? place : places.ofConfig(['app_main', 'groups', name, 'role']),
  };
}

/** The groups that need a role, by name. */
export function boundGroupsOf(bound: readonly BoundGroup[], places: Places) {
  return bound
    .map(({ name, path, role }) => ({ name, role, place: places.ofConfig([...path, 'role']) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
