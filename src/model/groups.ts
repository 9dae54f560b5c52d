import type { EntityProperty } from '@mikro-orm/core';

/** The group that selects what goes out. */
export const readGroups: readonly string[] = Object.freeze(['read']);

/** The group that selects what is accepted. */
export const writeGroups: readonly string[] = Object.freeze(['write']);

/** Whether callers meet a property at all, by reading or by writing it. The others are not named to them, in no message. */
export function isKnownToCallers(property: Pick<EntityProperty, 'groups' | 'hidden'>): boolean {
  return inGroups(property, [...readGroups, ...writeGroups]);
}

/**
 * Whether a property takes part in any of the active groups.
 *
 * This is the one place that decides what may go out or come in, and it fails closed: a property without groups, or one
 * that the model hides, is in none, and an empty set of active groups selects nothing.
 */
export function inGroups(property: Pick<EntityProperty, 'groups' | 'hidden'>, active: readonly string[]): boolean {
  return property.hidden !== true && property.groups !== undefined && property.groups.some((group) => active.includes(group));
}
