// Runs every check and ends with one line, "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databasesVariable } from '../test/support/selected-databases.ts';
import { builtVariable } from './command.ts';
import { summarize } from './summary.ts';

const root = join(import.meta.dirname, '..');
const reportFile = join(root, 'node_modules', '.cache', 'declarest', 'test-report.json');
rmSync(reportFile, { force: true });

const environment = { ...process.env, [databasesVariable]: 'all', [builtVariable]: join(root, 'dist') };

const npm = process.env.npm_execpath;
const checked = npm ? run(process.execPath, [npm, 'run', 'check']) : run('npm', ['run', 'check']);
// tests start the built command, as users do
const built = run(process.execPath, [join(root, 'scripts', 'build.ts')]);
const tested = run(process.execPath, [
  join(root, 'node_modules', 'vitest', 'vitest.mjs'),
  'run',
  '--coverage',
  '--allowOnly=false',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${reportFile}`,
]);
const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined;

const { passed, failed, reasons } = summarize({ checked, built, tested, report });
for (const reason of reasons) console.log(`failed: ${reason}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function run(command: string, args: string[]): boolean {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit', env: environment }).status === 0;
}
