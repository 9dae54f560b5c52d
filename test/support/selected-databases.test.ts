import { describe, expect, test } from 'vitest';
import { selectedDatabases } from './selected-databases.ts';

describe('the databases of a run', () => {
  test.each([
    ['', ['sqlite', 'postgresql']],
    ['all', ['sqlite', 'postgresql']],
    ['sqlite', ['sqlite']],
    ['none', []],
  ])('with %j are %j', (value, kinds) => {
    expect(selectedDatabases(value)).toEqual(kinds);
  });

  test('must be known', () => {
    expect(() => selectedDatabases('mysql')).toThrow('DECLAREST_TEST_DATABASES must be all, sqlite or none, not "mysql"');
  });
});
