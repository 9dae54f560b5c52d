import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi, WrittenAppMain } from '../schema/schema.ts';
import { listed } from '../suggest.ts';
import type { BoundGroup, DeclaredGroup, GroupsDeclaration, Path } from '../types.ts';

/** How many groups of an action may depend on roles, for reading and for writing: each set of them has statements of its own. */
const mostBoundGroups = 4;

/** The groups that depend on roles. Those with errors are left out. */
export function readBoundGroups(written: WrittenAppMain['groups']): readonly BoundGroup[] {
  return written.flatMap(({ key, path, value: { role } }) => (role === undefined ? [] : [{ name: String(key), role, path }]));
}

/** The groups of an API that declares none. */
export function defaultGroups(bound: readonly BoundGroup[]): GroupsDeclaration {
  const byDefault = (name: string): DeclaredGroup[] => [{ name, role: roleOf(name, bound), path: null }];
  return { read: byDefault('read'), write: byDefault('write') };
}

/** The groups of an API or an action. Those that were not written come from `fallback`. */
export function readGroups(
  written: WrittenApi['groups'] | WrittenAction['groups'],
  path: Path,
  fallback: GroupsDeclaration,
  bound: readonly BoundGroup[],
  report: Report,
): GroupsDeclaration {
  const of = (direction: 'read' | 'write'): readonly DeclaredGroup[] => {
    const names = written[direction];
    const at = [...path, direction];
    if (names === undefined) return fallback[direction];
    const groups = names.map((name, i) => ({ name, role: roleOf(name, bound), path: [...at, i] }));
    const limited = groups.filter(({ role }) => role !== null);
    if (limited.length > mostBoundGroups)
      report.add(
        at,
        `${limited.length} of these groups need a role, and at most ${mostBoundGroups} may: ${listed(limited.map(({ name }) => name))}; combine some, or move some to another action`,
      );
    return groups;
  };
  return { read: of('read'), write: of('write') };
}

function roleOf(name: string, bound: readonly BoundGroup[]): string | null {
  return bound.find((group) => group.name === name)?.role ?? null;
}
