import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installFolder, runIn, runNpm } from '../scripts/install-folder.ts';

const root = join(import.meta.dirname, '..');

/** Installs the packages of a peer, where that was not done since its list of them was last changed. */
export function installPeer(name: string): void {
  const cwd = join(import.meta.dirname, 'peers', name);
  installFolder(cwd);
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { scripts?: Record<string, string> };
  const built = join(cwd, 'dist', 'app.js');
  const isStale = !existsSync(built) || statSync(built).mtimeMs < statSync(join(cwd, 'app.ts')).mtimeMs;
  if (scripts?.['prepare-peer'] && isStale) runNpm(cwd, ['run', '--silent', 'prepare-peer']);
}

/** Puts the package, newly built unless one is given, where the applications of apps/ find it, as if they had installed it. */
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

/** Copies the example application to a folder of its own, with the package installed beside it. */
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
