// Changes the code that decides who may see what, one place at a time, and runs its tests: each change must make one fail.
// Arguments go to Stryker: `npm run mutate -- --mutate src/access/guard.ts`.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installFolder } from '../scripts/install-folder.ts';

const here = import.meta.dirname;
// Vitest, which the runner asks for, is that of the repository.
installFolder(here, ['--legacy-peer-deps']);
const stryker = join(here, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const { status } = spawnSync(
  process.execPath,
  [stryker, 'run', join('mutation', 'stryker.config.json'), ...process.argv.slice(2)],
  { cwd: join(here, '..'), stdio: 'inherit' },
);
process.exitCode = status ?? 1;
