import { describe, expect, test } from 'vitest';
import {
  activeGroups,
  groupsKey,
  groupsOfApi,
  groupsOfProperty,
  inGroups,
  isKnownTo,
  noGroups,
  readGroups,
  rolesOfGroups,
  writeGroups,
} from '../../src/model/groups.ts';

describe('the groups', () => {
  test('for reading and for writing are constant', () => {
    expect(readGroups).toEqual(['read']);
    expect(writeGroups).toEqual(['write']);
    expect(noGroups).toEqual({ read: [], embedded: [], write: [] });
    expect(() => (readGroups as string[]).push('write')).toThrow(TypeError);
    expect(() => (writeGroups as string[]).push('read')).toThrow(TypeError);
  });
});

describe('a property', () => {
  test('is in the active groups if one of its own groups is active', () => {
    expect(inGroups({ groups: ['read'] }, ['read'])).toBe(true);
    expect(inGroups({ groups: ['list', 'read'] }, ['read', 'extra'])).toBe(true);
    expect(inGroups({ groups: ['read'], hidden: false }, ['read'])).toBe(true);
  });

  test.each([
    ['of other groups', { groups: ['write', 'Read', 'rea', 'reads'] }],
    ['of an empty list of groups', { groups: [] }],
    ['without groups', {}],
    ['that the model hides', { groups: ['read'], hidden: true }],
    ['that the model hides, without groups', { hidden: true }],
  ])('%s is in no group', (_title, property) => {
    expect(inGroups(property, ['read'])).toBe(false);
  });

  test('is in no group if no group is active', () => {
    expect(inGroups({ groups: ['read'] }, [])).toBe(false);
    expect(inGroups({}, [])).toBe(false);
  });
});

describe('a property is known to callers', () => {
  test('only if they can read or write it', () => {
    const known = { read: ['read'], embedded: ['inside'], write: ['write'] };
    for (const group of ['read', 'inside', 'write']) expect(isKnownTo(known, { groups: [group] })).toBe(true);
    for (const property of [{}, { groups: [] }, { groups: ['internal'] }, { groups: ['read', 'write'], hidden: true }])
      expect(isKnownTo(known, property)).toBe(false);
    expect(isKnownTo(noGroups, { groups: ['read', 'write'] })).toBe(false);
  });
});

describe('the active groups of a caller', () => {
  const group = (name: string, role: string | null = null) => ({ name, role, path: null });
  const declared = { read: [group('read'), group('read:medical', 'MEDICAL')], write: [group('write:medical', 'MEDICAL')] };

  test('are all groups by default', () => {
    expect(activeGroups(declared)).toEqual({
      read: ['read', 'read:medical'],
      embedded: ['read', 'read:medical'],
      write: ['write:medical'],
      withheld: [],
    });
  });

  test('leave out groups whose role is denied', () => {
    expect(activeGroups(declared, () => false)).toEqual({
      read: ['read'],
      embedded: ['read'],
      write: [],
      withheld: ['read:medical'],
    });
  });

  test('can differ for rows inside the response', () => {
    const { embedded, read } = activeGroups(
      declared,
      () => true,
      () => false,
    );
    expect(read).toEqual(['read', 'read:medical']);
    expect(embedded).toEqual(['read']);
  });

  test.each([
    [['READ'], ['READ', 'MORE'], ['read'], ['read', 'more']],
    [
      ['READ', 'MORE'],
      ['READ', 'LAST'],
      ['read', 'more'],
      ['read', 'last'],
    ],
    [
      ['MORE', 'LAST'],
      ['READ', 'LAST'],
      ['more', 'last'],
      ['read', 'last'],
    ],
    [['READ'], ['MORE'], ['read'], ['more']],
  ])('of %j, and of %j inside the response, are separate', (own, inside, read, embedded) => {
    const all = { read: ['read', 'more', 'last'].map((name) => group(name, name.toUpperCase())), write: [] };
    const isIn = (roles: string[]) => (role: string) => roles.includes(role);
    expect(activeGroups(all, isIn(own), isIn(inside))).toMatchObject({ read, embedded });
  });

  test('depend on each role once', () => {
    expect(rolesOfGroups([...declared.read, ...declared.write, group('own', 'OWNER')])).toEqual(['MEDICAL', 'OWNER']);
  });

  test('of an API are those of all its actions', () => {
    const none = { read: [], write: [] };
    const actions = [{ groups: { ...none, read: [group('list')] } }, { groups: { ...none, write: [group('edit')] } }];
    expect(groupsOfApi({ groups: declared, actions } as never)).toEqual({
      read: [...declared.read, group('list')],
      write: [...declared.write, group('edit')],
    });
  });

  test('are the same list for all rows if the decisions are the same', () => {
    const { embedded, read } = activeGroups(declared);
    expect(embedded).toBe(read);
  });
});

test('the groups of a property are those that the model gives to it', () => {
  expect(groupsOfProperty({ groups: ['read', 'list'] })).toEqual(['read', 'list']);
  expect(groupsOfProperty({})).toEqual([]);
});

test('the key of active groups differs if they read, embed or write something else', () => {
  const groups = { read: ['read'], embedded: ['read'], write: ['write'] };
  const others = [
    { ...groups, read: ['read', 'own'] },
    { ...groups, embedded: [] },
    { ...groups, write: ['write', 'own'] },
    { ...groups, read: ['read,own'] },
  ];
  expect(groupsKey({ ...groups, read: [...groups.read] })).toBe(groupsKey(groups));
  expect(new Set([groups, ...others].map(groupsKey)).size).toBe(5);
});
