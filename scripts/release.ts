// Releases the version in package.json: npm run release. With --dry-run, neither a tag nor the package is published.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectKinds, tryProject, writeProject } from './release-projects.ts';

/** What a release is made of. */
export interface ReleaseState {
  readonly version: string;
  readonly changelog: string;
  /** The output of `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
}

/** The reasons that prevent a release. */
export function releaseErrors({ version, changelog, changes, tags }: ReleaseState): string[] {
  const isVersion = /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version);
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`[${version}]`));
  return [
    ...(changes.trim() === '' ? [] : [`there are changes that are not committed:\n${changes.trimEnd()}`]),
    ...(isVersion ? [] : [`package.json has the version "${version}"; it must be like 1.2.3`]),
    ...(section === undefined ? [`CHANGELOG.md has no section "## [${version}]"; rename "## [Unreleased]"`] : []),
    ...(section !== undefined && !/^- /m.test(section) ? [`the section [${version}] of CHANGELOG.md lists no changes`] : []),
    ...(tags.includes(`v${version}`) ? [`the tag v${version} exists already; raise the version in package.json`] : []),
  ];
}

async function release(root: string, { dryRun }: { dryRun: boolean }): Promise<void> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const errors = releaseErrors({
    version: manifest.version,
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
  });
  // the rest is tried as well, so that one run shows all errors
  for (const error of errors) console.error(`error: ${error}`);
  if (errors.length > 0 && !dryRun) throw new Error('nothing was released: see the errors above');

  const directory = mkdtempSync(join(tmpdir(), 'declarest-release-'));
  try {
    const built = join(directory, 'package');
    console.log('building the package');
    execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts'), built], { stdio: 'inherit' });
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', built, '--json', '--loglevel=error'], { cwd: directory, encoding: 'utf8' }),
    );
    const tarball = join(directory, packed.filename);
    console.log(`packed ${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} bytes unpacked`);
    for (const kind of projectKinds) {
      const project = join(directory, kind.name);
      mkdirSync(project);
      writeProject(project, kind, tarball, manifest);
      await tryProject(project, kind);
      console.log(`${kind.name}: installed, checked, started, answered`);
    }
    if (errors.length > 0) throw new Error('the package works, but it cannot be released: see the errors above');
    if (dryRun) return console.log(`dry run: v${manifest.version} is neither tagged nor published`);
    git('tag', '--annotate', `v${manifest.version}`, '--message', `v${manifest.version}`);
    execFileSync('npm', ['publish', tarball, '--access', 'public'], { cwd: root, stdio: 'inherit' });
    console.log(`published v${manifest.version}; push its tag: git push origin v${manifest.version}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  try {
    await release(join(import.meta.dirname, '..'), { dryRun: process.argv.includes('--dry-run') });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
