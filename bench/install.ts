import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installFolder, runIn, runNpm } from '../scripts/install-folder.ts';

const root = join(import.meta.dirname, '..');

/** Installs and compiles a peer, unless both are up to date. */
export function installPeer(name: string): void {
  const cwd = join(import.meta.dirname, 'peers', name);
  installFolder(cwd);
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { scripts?: Record<string, string> };
  const built = join(cwd, 'dist', 'app.js');
  const isStale = !existsSync(built) || statSync(built).mtimeMs < statSync(join(cwd, 'app.ts')).mtimeMs;
  if (scripts?.['prepare-peer'] && isStale) runNpm(cwd, ['run', '--silent', 'prepare-peer']);
}

/** Installs the given package, or a new build of the sources, for the applications of apps/. */
export function installDeclarest(built: string | undefined): void {
  const target = join(import.meta.dirname, 'apps', 'node_modules', 'declarest');
  if (built !== undefined) {
    rmSync(target, { recursive: true, force: true });
    cpSync(built, target, { recursive: true });
    return;
  }
  runIn(root, process.execPath, [join(root, 'scripts', 'build.ts'), target]);
}

const generated = join(import.meta.dirname, '.generated');

export const exampleDirectory = join(generated, 'courses');

/** Copies the example application to its own folder, with the package installed next to it. */
export function installExample(): void {
  rmSync(exampleDirectory, { recursive: true, force: true });
  mkdirSync(exampleDirectory, { recursive: true });
  for (const name of ['config', 'src']) {
    cpSync(join(root, 'examples', 'courses', name), join(exampleDirectory, name), { recursive: true });
  }
  writeFileSync(join(exampleDirectory, 'package.json'), '{ "private": true, "type": "module" }\n');
  const installed = join(generated, 'node_modules', 'declarest');
  rmSync(installed, { recursive: true, force: true });
  cpSync(join(import.meta.dirname, 'apps', 'node_modules', 'declarest'), installed, { recursive: true });
}
