// Changes the code that decides who may see and do what, one place at a time, and runs its tests: each change must make one fail.
// `npm run mutate -- access` or `npm run mutate -- actions` runs one of the two parts. Arguments after it go to Stryker:
// `npm run mutate -- actions --mutate src/actions/admission.ts`.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installFolder } from '../scripts/install-folder.ts';

const parts = { access: 'stryker.config.json', actions: 'actions.config.json' };

const here = import.meta.dirname;
// Vitest, which the runner asks for, is that of the repository.
installFolder(here, ['--legacy-peer-deps']);
const stryker = join(here, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const [first = '', ...rest] = process.argv.slice(2);
const isPart = Object.hasOwn(parts, first);
const chosen = isPart ? [parts[first as keyof typeof parts]] : Object.values(parts);
const options = isPart ? rest : process.argv.slice(2);
if (!isPart && options.length > 0) throw new Error(`name the part first, one of: ${Object.keys(parts).join(', ')}`);

for (const config of chosen) {
  const args = [stryker, 'run', join('mutation', config), ...options];
  const { status } = spawnSync(process.execPath, args, { cwd: join(here, '..'), stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
