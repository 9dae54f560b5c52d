import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Installs the packages of a peer, where that was not done since its list of them was last changed. */
export function installPeer(name: string): void {
  const cwd = join(import.meta.dirname, 'peers', name);
  const manifest = join(cwd, 'package.json');
  const installed = join(cwd, 'node_modules', '.package-lock.json');
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(manifest).mtimeMs) {
    console.log(`installing the packages of bench/peers/${name}`);
    npm(cwd, ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts?: Record<string, string> };
  const built = join(cwd, 'dist', 'app.js');
  const isStale = !existsSync(built) || statSync(built).mtimeMs < statSync(join(cwd, 'app.ts')).mtimeMs;
  if (scripts?.['prepare-peer'] && isStale) npm(cwd, ['run', '--silent', 'prepare-peer']);
}

/** Puts the package, newly built unless one is given, where the applications of apps/ find it, as if they had installed it. */
export function installDeclarest(built: string | undefined): void {
  const target = join(import.meta.dirname, 'apps', 'node_modules', 'declarest');
  if (built !== undefined) {
    rmSync(target, { recursive: true, force: true });
    cpSync(built, target, { recursive: true });
    return;
  }
  run(process.execPath, [join(root, 'scripts', 'build.ts'), target], root);
}

function npm(cwd: string, args: readonly string[]): void {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) run(process.execPath, [cli, ...args], cwd);
  else run('npm', args, cwd);
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} failed in ${cwd}: see its messages above`);
}
