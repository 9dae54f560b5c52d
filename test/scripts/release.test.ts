import { describe, expect, test } from 'vitest';
import { releaseErrors } from '../../scripts/release.ts';

describe('a release', () => {
  const sound = { version: '1.2.0', changelog: '# Changelog\n\n## [1.2.0]\n\n- Something new.\n', changes: '', tags: ['v1.1.0'] };

  test('needs a committed tree, a version, its section of the changelog and a new tag', () => {
    expect(releaseErrors(sound)).toEqual([]);
    expect(releaseErrors({ ...sound, changes: ' M src/index.ts\n' })).toEqual([
      'there are changes that are not committed:\n M src/index.ts',
    ]);
    expect(releaseErrors({ ...sound, tags: ['v1.2.0'] })).toEqual([
      'the tag v1.2.0 exists already; raise the version in package.json',
    ]);
  });

  test('rejects a version that is not a semantic version', () => {
    const [error] = releaseErrors({ ...sound, version: '1.2' });
    expect(error).toBe('package.json has the version "1.2"; it must be like 1.2.3');
  });

  test('accepts unreleased changes in a dry run only', () => {
    const changelog = '## [Unreleased]\n\n### Added\n\n- Something new.\n\n## [1.1.0]\n\n- Something old.\n';
    expect(releaseErrors({ ...sound, changelog, dryRun: true })).toEqual([]);
    expect(releaseErrors({ ...sound, changelog })).toHaveLength(1);
    const empty = '## [Unreleased]\n\n## [1.1.0]\n\n- Something old.\n';
    expect(releaseErrors({ ...sound, changelog: empty, dryRun: true })).toEqual([
      'the section [1.2.0] of CHANGELOG.md lists no changes',
    ]);
  });

  test('rejects a changelog without changes of the version', () => {
    const unreleased = { ...sound, changelog: '## [Unreleased]\n\n- Something new.\n' };
    expect(releaseErrors(unreleased)).toEqual(['CHANGELOG.md has no section "## [1.2.0]"; rename "## [Unreleased]"']);
    const empty = { ...sound, changelog: '## [1.2.0]\n\n## [1.1.0]\n\n- Something old.\n' };
    expect(releaseErrors(empty)).toEqual(['the section [1.2.0] of CHANGELOG.md lists no changes']);
  });
});
