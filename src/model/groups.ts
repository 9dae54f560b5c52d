import type { EntityProperty } from '@mikro-orm/core';

/** The group of properties in responses. */
export const readGroups: readonly string[] = Object.freeze(['read']);

/** The group of properties that request bodies may contain. */
export const writeGroups: readonly string[] = Object.freeze(['write']);

/** Whether callers can read or write a property. Messages to callers never name other properties. */
export function isKnownToCallers(property: Pick<EntityProperty, 'groups' | 'hidden'>): boolean {
  return inGroups(property, [...readGroups, ...writeGroups]);
}

/**
 * Whether a property takes part in any of the active groups.
 *
 * Only this function decides which properties may go out or come in, and it fails closed (decision 5): a property without groups,
 * or one that the model hides, is in none, and an empty set of active groups selects nothing.
 */
export function inGroups(property: Pick<EntityProperty, 'groups' | 'hidden'>, active: readonly string[]): boolean {
  return property.hidden !== true && property.groups !== undefined && property.groups.some((group) => active.includes(group));
}
