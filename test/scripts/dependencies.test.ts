import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allowedLicenses, megabytesOf, most, runtimePackages } from '../../scripts/dependencies.ts';
import { sbomOf } from '../../scripts/sbom.ts';

const root = join(import.meta.dirname, '../..');

describe('the packages that users install with Declarest', () => {
  const packages = runtimePackages(root);

  test('include every direct dependency', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  });

  test('run no install scripts', () => {
    expect(packages.filter(({ installScripts }) => installScripts.length > 0)).toEqual([]);
  });

  test('have licenses from the allowed list', () => {
    expect(packages.filter(({ license }) => !allowedLicenses.includes(license))).toEqual([]);
  });

  test('stay within the limits for number and size', () => {
    expect(packages.length).toBeLessThanOrEqual(most.packages);
    expect(megabytesOf(packages)).toBeLessThanOrEqual(most.megabytes);
    // else nothing was measured
    expect(megabytesOf(packages)).toBeGreaterThan(1);
  });

  test('have a documented policy', () => {
    const [, policy = ''] = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('## Dependencies');
    expect(policy).toContain(`at most ${most.packages} packages and ${most.megabytes} MB`);
    expect(policy).toContain(allowedLicenses.join(', '));
  });
});

describe('the bill of materials', () => {
  const sbom = sbomOf(root) as {
    components: { 'bom-ref': string; name: string; version: string; purl: string; hashes?: unknown[]; licenses?: unknown[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };

  test('lists each run-time package with its hash and license', () => {
    const names = sbom.components.map(({ name, version }) => `${name} ${version}`);
    expect(names).toEqual(expect.arrayContaining(runtimePackages(root).map(({ name, version }) => `${name} ${version}`)));
    expect(sbom.components.filter(({ hashes, licenses }) => !hashes || !licenses)).toEqual([]);
    expect(sbom.components.map(({ purl }) => purl)).toContainEqual(expect.stringMatching(/^pkg:npm\/%40mikro-orm\/core@\d/));
  });

  test('lists each package once, and has no reference to an unlisted package', () => {
    const refs = sbom.components.map((component) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    expect(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.includes(ref))).toEqual([]);
    const needed = new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect(refs.filter((ref) => !needed.has(ref))).toEqual([]);
  });

  test('is reproducible', () => {
    expect(JSON.stringify(sbomOf(root))).toBe(JSON.stringify(sbom));
    expect(JSON.stringify(sbom)).not.toMatch(/timestamp|serialNumber/);
  });
});
