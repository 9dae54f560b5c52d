import type { EntityProperty } from '@mikro-orm/core';
import type { DeclaredGroup } from '../declaration/types.ts';
import { rolesOfProperty, rolesText } from '../model/group-roles.ts';
import type { JsonSchema } from './json-schema.ts';

/** The sentence of a field or a parameter that needs a role; empty if none is needed. */
export function roleNote(steps: readonly (readonly string[])[], subject = 'Only'): string {
  return steps.length === 0 ? '' : `${subject} for callers with the role ${rolesText(steps)}.`;
}

/** The schema of a field, with the roles of which a caller needs one: other callers do not get the field, and may not send it. */
export function withRoles(schema: JsonSchema, property: EntityProperty, groups: readonly DeclaredGroup[]): JsonSchema {
  const roles = rolesOfProperty(property, groups);
  return withRolesOf(schema, roles.length === 0 ? [] : [roles]);
}

/** The same for the roles of a path: of each list, a caller needs one. */
export function withRolesOf(schema: JsonSchema, steps: readonly (readonly string[])[]): JsonSchema {
  if (steps.length === 0) return schema;
  const { description } = schema as { description?: string };
  const text = [description, roleNote(steps)]
    .filter((part) => part !== undefined)
    .join(description?.includes('\n') ? '\n\n' : ' ');
  return { ...schema, description: text, 'x-role': rolesText(steps) };
}

/** Distinguishes the schemas of a model in several sets of groups: `Short` for `[short]`, `ReadMedical` for `[read, read:medical]`. */
export function groupSuffix(groups: readonly DeclaredGroup[], usual: 'read' | 'write'): string {
  const names = groups.map(({ name }) => name);
  const further = names.filter((name) => name !== usual);
  return (further.length > 0 ? further : names).map(capitalized).join('');
}

function capitalized(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase());
}

export function isSameGroups(one: readonly DeclaredGroup[], other: readonly DeclaredGroup[]): boolean {
  return one.length === other.length && one.every(({ name }, index) => other[index]?.name === name);
}
