import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { whatIsMissing } from '../../scripts/ensure-installed.mjs';
import { makeTemporary, type Temporary } from '../support/temporary.ts';

describe('the check for missing packages', () => {
  let temporary: Temporary;
  const at = (...path: string[]) => join(temporary.directory, ...path);
  const write = (file: string, content: unknown) => writeFileSync(at(file), JSON.stringify(content));
  const packages = (version: string) => ({ 'node_modules/fast': { version } });

  beforeEach(() => {
    temporary = makeTemporary('installed');
    mkdirSync(at('node_modules/fast'), { recursive: true });
    write('package.json', { dependencies: { fast: '1.0.0' } });
    write('package-lock.json', {
      packages: {
        '': { dependencies: { fast: '1.0.0' } },
        ...packages('1.0.0'),
        'node_modules/other-platform': { version: '1.0.0', optional: true },
      },
    });
    write('node_modules/.package-lock.json', { packages: packages('1.0.0') });
  });
  afterEach(() => temporary.remove());

  test('passes if the lock file matches the installation, except for other platforms', () => {
    expect(whatIsMissing(temporary.directory)).toBeUndefined();
  });

  test('reports everything in a fresh clone', () => {
    rmSync(at('node_modules'), { recursive: true });
    expect(whatIsMissing(temporary.directory)).toBe('nothing is installed yet');
  });

  test('reports a package in another version', () => {
    write('node_modules/.package-lock.json', { packages: packages('0.9.0') });
    expect(whatIsMissing(temporary.directory)).toBe('node_modules/fast is not installed in version 1.0.0');
  });

  test('reports a package whose folder was removed', () => {
    rmSync(at('node_modules/fast'), { recursive: true });
    expect(whatIsMissing(temporary.directory)).toBe('node_modules/fast is not installed in version 1.0.0');
  });

  test('reports packages that were added to package.json by hand', () => {
    write('package.json', { dependencies: { fast: '1.0.0', new: '1.0.0' } });
    expect(whatIsMissing(temporary.directory)).toBe('the dependencies of package.json are not those of the lock file');
  });
});

// npm installs no optional package that the lock file does not name, and names none that its registry could not give.
test('the lock file names the native packages for 64-bit Intel and ARM machines', () => {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'));
  const optional = Object.values<{ optionalDependencies?: object }>(packages).flatMap((each) =>
    Object.keys(each.optionalDependencies ?? {}),
  );
  const native = optional.filter((name) => /linux-(x64|arm64)(-gnu)?$/.test(name));
  expect(native).toContain('@rolldown/binding-linux-arm64-gnu');
  const named = Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, ''));
  expect(native.filter((name) => !named.includes(name))).toEqual([]);
});
