// Changes the code that decides who may see and do what, one place at a time, and runs its tests: each change must make one fail.
// `npm run mutate -- access` or `npm run mutate -- actions` runs one of the two parts. The second changes one file after another, each
// with its own tests; `npm run mutate -- actions src/actions/admission.ts` changes only the named files.
// Other arguments after the part go to Stryker: `npm run mutate -- access --mutate src/access/guard.ts`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { installFolder } from '../scripts/install-folder.ts';
import { coveringTests } from './covering-tests.ts';

const here = import.meta.dirname;
const results = join(here, 'results');
const [part, ...rest] = process.argv.slice(2);
if (part !== undefined && part !== 'access' && part !== 'actions')
  throw new Error('name the part first, one of: access, actions');

// Vitest, which the runner asks for, is that of the repository.
installFolder(here, ['--legacy-peer-deps']);
const stryker = join(here, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const named = rest.filter((argument) => coveringTests.has(argument));
const options = rest.filter((argument) => !named.includes(argument));
const unknown = options.find((argument) => argument.startsWith('src/'));
if (part === 'actions' && unknown !== undefined) throw new Error(`${unknown} has no tests in mutation/covering-tests.ts`);

if (part !== 'actions') run('stryker.config.json');
if (part !== 'access') {
  const files = named.length > 0 ? named : [...coveringTests.keys()];
  const lines = files.map((file) => {
    const tests = process.env.MUTATION_TESTS ?? coveringTests.get(file)?.join(',');
    run('actions.config.json', ['--mutate', file], { MUTATION_TESTS: tests });
    return summaryOf(file);
  });
  console.log(['| file | noticed | all | % |', '| --- | --- | --- | --- |', ...lines].join('\n'));
}

function run(config: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): void {
  const { status } = spawnSync(process.execPath, [stryker, 'run', join('mutation', config), ...args, ...options], {
    cwd: join(here, '..'),
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exitCode = 1;
}

/** Keeps the report on a file, because the next file replaces it, and returns its line of the table. */
function summaryOf(file: string): string {
  const report = join(results, 'actions.json');
  if (!existsSync(report)) return `| ${file} | - | - | - |`;
  mkdirSync(join(results, 'files'), { recursive: true });
  const kept = join(results, 'files', `${basename(file, '.ts')}.json`);
  renameSync(report, kept);
  const { files } = JSON.parse(readFileSync(kept, 'utf8')) as { files: Record<string, { mutants: { status: string }[] }> };
  const statuses = (files[file]?.mutants ?? []).map(({ status }) => status);
  const all = statuses.filter((status) => status !== 'Ignored' && status !== 'CompileError').length;
  const noticed = statuses.filter((status) => status === 'Killed' || status === 'Timeout').length;
  return `| ${file} | ${noticed} | ${all} | ${((100 * noticed) / all).toFixed(1)} |`;
}
