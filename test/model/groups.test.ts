import { describe, expect, test } from 'vitest';
import { inGroups, isKnownToCallers, readGroups, writeGroups } from '../../src/model/groups.ts';

describe('the groups', () => {
  test('of what goes out and of what comes in are fixed', () => {
    expect(readGroups).toEqual(['read']);
    expect(writeGroups).toEqual(['write']);
    expect(() => (readGroups as string[]).push('write')).toThrow(TypeError);
    expect(() => (writeGroups as string[]).push('read')).toThrow(TypeError);
  });
});

describe('a property', () => {
  test('is in the active groups if one of its own is among them', () => {
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
  ])('%s is in none', (_title, property) => {
    expect(inGroups(property, ['read'])).toBe(false);
  });

  test('is in none where no group is active', () => {
    expect(inGroups({ groups: ['read'] }, [])).toBe(false);
    expect(inGroups({}, [])).toBe(false);
  });
});

describe('callers know a property', () => {
  test('that they can read or write, and no other', () => {
    expect(isKnownToCallers({ groups: ['read'] })).toBe(true);
    expect(isKnownToCallers({ groups: ['write'] })).toBe(true);
    for (const property of [{}, { groups: [] }, { groups: ['internal'] }, { groups: ['read', 'write'], hidden: true }])
      expect(isKnownToCallers(property)).toBe(false);
  });
});
