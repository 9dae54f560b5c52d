import type { EntityProperty } from '@mikro-orm/core';
import type { ApiDeclaration, DeclaredGroup, GroupsDeclaration } from '../declaration/types.ts';

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
  /** The read groups whose roles are not granted for the action's own rows. PUT leaves their fields as they are. */
  readonly withheld?: readonly string[];
}

/** No fields at all. */
export const noGroups: ActiveGroups = Object.freeze({ read: [], embedded: [], write: [] });

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
  return Object.freeze({
    read: own,
    embedded: isSameList(own, inside) ? own : inside,
    write: groupNames(write, isGranted),
    withheld: groupNames(read).filter((name) => !own.includes(name)),
  });
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, i) => item === other[i]);
}

/** The groups that a model gives to a property. */
export function groupsOfProperty(property: Pick<EntityProperty, 'groups'>): readonly string[] {
  return property.groups ?? [];
}

/** All groups of an API and its actions. */
export function groupsOfApi({ actions, groups }: Pick<ApiDeclaration, 'actions' | 'groups'>): GroupsDeclaration {
  const all = [groups, ...actions.map((action) => action.groups)];
  return { read: all.flatMap(({ read }) => read), write: all.flatMap(({ write }) => write) };
}

/** A text that is the same for the same groups. */
export function groupsKey({ embedded, read, write }: ActiveGroups): string {
  return JSON.stringify([read, embedded, write]);
}

/** Whether a caller can read or write a property. Messages never name other properties. */
export function isKnownTo(groups: ActiveGroups, property: Pick<EntityProperty, 'groups' | 'hidden'>): boolean {
  const { embedded, read, write } = groups;
  return inGroups(property, read) || inGroups(property, write) || inGroups(property, embedded);
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
