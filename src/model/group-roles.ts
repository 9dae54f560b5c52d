import type { EntityProperty } from '@mikro-orm/core';
import type { DeclaredGroup } from '../declaration/types.ts';
import type { FieldPlan } from './field-plan.ts';
import { groupNames, inGroups } from './groups.ts';
import { readableField } from './readable-field.ts';

/** The roles of which a caller needs one to read or write a property; none if it is in a group for everyone. */
export function rolesOfProperty(
  property: Pick<EntityProperty, 'groups' | 'hidden'>,
  groups: readonly DeclaredGroup[],
): readonly string[] {
  const open = groups.filter(({ role }) => role === null);
  if (inGroups(property, groupNames(open))) return [];
  return [...new Set(groups.flatMap(({ name, role }) => (role !== null && inGroups(property, [name]) ? [role] : [])))];
}

/** For each step of a path of JSON names that needs a role: the roles of which one is enough. */
export function rolesOfPath(plan: FieldPlan, path: string, groups: readonly DeclaredGroup[]): readonly (readonly string[])[] {
  const steps = (readableField(plan, path)?.fields ?? []).map(({ metadata }) => rolesOfProperty(metadata, groups));
  const needed = steps.filter((roles) => roles.length > 0);
  return [...new Map(needed.map((roles) => [roles.join(), roles])).values()];
}

/** `PERSON_MEDICAL`, `A or B`, `A or B, and C` */
export function rolesText(steps: readonly (readonly string[])[]): string {
  return steps.map((roles) => roles.join(' or ')).join(', and ');
}
