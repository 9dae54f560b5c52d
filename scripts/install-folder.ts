import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs the packages of a folder with its own package.json, if that file changed since the last installation. Such folders
 * keep packages that few contributors need out of everybody's `npm install`.
 */
export function installFolder(cwd: string, flags: readonly string[] = []): void {
  const manifest = join(cwd, 'package.json');
  const installed = join(cwd, 'node_modules', '.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(manifest).mtimeMs) return;
  console.log(`installing the packages of ${cwd}`);
  runNpm(cwd, ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error', ...flags]);
}

/** Uses the npm that started this process, or the one on the path. */
export function runNpm(cwd: string, args: readonly string[]): void {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) runIn(cwd, process.execPath, [cli, ...args]);
  else runIn(cwd, 'npm', args);
}

export function runIn(cwd: string, command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} failed in ${cwd}: see its messages above`);
}
