import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { selectedDatabases } from './selected-databases.ts';
import { notUnitTests, unitTests } from './unit-tests.ts';

const root = join(import.meta.dirname, '..', '..');

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

test('unit tests open no database', () => {
  const others = globSync([...notUnitTests], { cwd: root });
  const files = globSync([...unitTests], { cwd: root }).filter((file) => !others.includes(file));
  const opening = files.filter((file) => /support\/databases\.ts'/.test(readFileSync(join(root, file), 'utf8')));
  expect(files.length).toBeGreaterThan(50);
  expect(opening).toEqual([]);
});
