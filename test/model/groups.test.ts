import { describe, expect, test } from 'vitest';
import { inGroups, isKnownToCallers, readGroups, writeGroups } from '../../src/model/groups.ts';

describe('the groups', () => {
  test('for reading and for writing are constant', () => {
    expect(readGroups).toEqual(['read']);
    expect(writeGroups).toEqual(['write']);
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
    expect(isKnownToCallers({ groups: ['read'] })).toBe(true);
    expect(isKnownToCallers({ groups: ['write'] })).toBe(true);
    for (const property of [{}, { groups: [] }, { groups: ['internal'] }, { groups: ['read', 'write'], hidden: true }])
      expect(isKnownToCallers(property)).toBe(false);
  });
});
