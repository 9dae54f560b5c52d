// Releases the version in package.json, and create-declarest with it: npm run release. With --dry-run, nothing is tagged or published.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectKinds, tryCreator, tryProject, writeProject } from './release-projects.ts';

/** The parts of a release. */
export interface ReleaseState {
  readonly version: string;
  readonly changelog: string;
  /** The output of `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
  /** In a dry run, the changes may still be in the section [Unreleased]. */
  readonly dryRun?: boolean;
}

/** The reasons that prevent a release. */
export function releaseErrors({ version, changelog, changes, tags, dryRun = false }: ReleaseState): string[] {
  const isVersion = /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version);
  const sections = changelog.split(/^## /m);
  const named = (name: string) => sections.find((text) => text.startsWith(`[${name}]`));
  const section = named(version) ?? (dryRun ? named('Unreleased') : undefined);
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
  const { version } = manifest;
  const errors = releaseErrors({
    version,
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
    dryRun,
  });
  // the rest is tried as well, so that one run shows all errors
  for (const error of errors) console.error(`error: ${error}`);
  if (errors.length > 0 && !dryRun) throw new Error('nothing was released: see the errors above');

  const directory = mkdtempSync(join(tmpdir(), 'declarest-release-'));
  try {
    const tarball = packed(directory, 'declarest', 'build.ts');
    const creator = packed(directory, 'create-declarest', 'build-create.ts');
    for (const kind of projectKinds) {
      const project = join(directory, kind.name);
      mkdirSync(project);
      writeProject(project, kind, tarball, manifest);
      await tryProject(project, kind);
      console.log(`${kind.name}: installed, checked, started, answered`);
    }
    tryCreator(directory, creator, tarball);
    console.log('create-declarest: created an application, installed and checked it, ran its tests');
    if (errors.length > 0) throw new Error('the packages work, but they cannot be released: see the errors above');
    if (dryRun) return console.log(`dry run: v${version} is neither tagged nor published`);
    git('tag', '--annotate', `v${version}`, '--message', `v${version}`);
    // create-declarest installs the other package, so it comes second
    for (const file of [tarball, creator])
      execFileSync('npm', ['publish', file, '--access', 'public'], { cwd: root, stdio: 'inherit' });
    console.log(`published v${version}; push its tag: git push origin v${version}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Builds a package by a script of this folder, packs it and returns the file. */
function packed(directory: string, name: string, script: string): string {
  const built = join(directory, `built-${name}`);
  console.log(`building ${name}`);
  execFileSync(process.execPath, [join(import.meta.dirname, script), built], { stdio: 'inherit' });
  const [{ filename, size, unpackedSize }] = JSON.parse(
    execFileSync('npm', ['pack', built, '--json', '--loglevel=error'], { cwd: directory, encoding: 'utf8' }),
  );
  console.log(`packed ${filename}: ${size} bytes, ${unpackedSize} bytes unpacked`);
  return join(directory, filename);
}

if (import.meta.main) {
  try {
    await release(join(import.meta.dirname, '..'), { dryRun: process.argv.includes('--dry-run') });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
