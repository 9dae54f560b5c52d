import type { EntityProperty } from '@mikro-orm/core';
import type { DeclaredGroup, GroupsDeclaration } from '../declaration/types.ts';

/** The group of properties in responses of actions that declare none. */
export const readGroups: readonly string[] = Object.freeze(['read']);

/** The group of properties that request bodies may contain, for actions that declare none. */
export const writeGroups: readonly string[] = Object.freeze(['write']);

/** The groups that apply to one caller of an action. */
export interface ActiveGroups {
  /** The groups of the fields of the action's own rows, with their embeddables. */
  readonly read: readonly string[];
  /** The groups of the fields of other rows inside a response. */
  readonly embedded: readonly string[];
  /** The groups of the fields that bodies may contain. */
  readonly write: readonly string[];
}

export type IsGranted = (role: string) => boolean;

const always: IsGranted = () => true;

/** The names of the declared groups that apply to a caller. By default every role is granted. */
export function groupNames(declared: readonly DeclaredGroup[], isGranted: IsGranted = always): readonly string[] {
  return Object.freeze(declared.filter(({ role }) => role === null || isGranted(role)).map(({ name }) => name));
}

/** The roles that declared groups depend on, each once. */
export function rolesOfGroups(declared: readonly DeclaredGroup[]): readonly string[] {
  return [...new Set(declared.flatMap(({ role }) => role ?? []))];
}

/**
 * The groups of an action that apply to a caller. `isGranted` is the decision about the row of the action, `isGrantedInside` the
 * one with a null subject, for rows inside the response. By default every role is granted.
 */
export function activeGroups(
  { read, write }: GroupsDeclaration,
  isGranted: IsGranted = always,
  isGrantedInside: IsGranted = isGranted,
): ActiveGroups {
  const own = groupNames(read, isGranted);
  const inside = groupNames(read, isGrantedInside);
  return Object.freeze({ read: own, embedded: isSameList(own, inside) ? own : inside, write: groupNames(write, isGranted) });
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, i) => item === other[i]);
}

/** Every group whose fields a caller knows. */
export function knownGroups({ embedded, read, write }: ActiveGroups): readonly string[] {
  return [...new Set([...read, ...embedded, ...write])];
}

/** Whether callers can read or write a property in one of their groups. Messages to callers never name other properties. */
export function isKnownToCallers(
  property: Pick<EntityProperty, 'groups' | 'hidden'>,
  known: readonly string[] = [...readGroups, ...writeGroups],
): boolean {
  return inGroups(property, known);
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
