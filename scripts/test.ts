// Runs every check and ends with one line, "N passed, N failed".
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { databasesVariable } from '../test/support/selected-databases.ts';
import { builtVariable } from './command.ts';
import { summarize } from './summary.ts';

const root = join(import.meta.dirname, '..');
const reportFile = join(root, 'node_modules', '.cache', 'declarest', 'test-report.json');
rmSync(reportFile, { force: true });

const environment = {
  ...process.env,
  [databasesVariable]: 'all',
  [builtVariable]: join(root, 'dist'),
  // The TypeScript compiler is written in Go. With rarer garbage collection, it executes a third fewer instructions.
  GOGC: process.env.GOGC ?? '400',
};

const npm = process.env.npm_execpath;
// a type check keeps one core busy, and the tests leave some of theirs idle
const check = npm ? start(process.execPath, [npm, 'run', 'check'], 'pipe') : start('npm', ['run', 'check'], 'pipe');
const checking = Promise.all([passes(check), check.stdout ? text(check.stdout) : '', check.stderr ? text(check.stderr) : '']);
// tests start the built command, as users do
const built = await passes(start(process.execPath, [join(root, 'scripts', 'build.ts')]));
const tested = await passes(
  start(process.execPath, [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--coverage',
    '--allowOnly=false',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
  ]),
);
const [checked, ...printed] = await checking;
console.log(printed.join(''));
const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined;

const { passed, failed, reasons, flaky } = summarize({ checked, built, tested, report });
if (flaky.length > 0) console.log(['passed only when repeated:', ...flaky].join('\n  '));
for (const reason of reasons) console.log(`failed: ${reason}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function start(command: string, args: string[], output: SpawnOptions['stdio'] = 'inherit') {
  return spawn(command, args, { cwd: root, stdio: ['ignore', output, output] as SpawnOptions['stdio'], env: environment });
}

async function passes(child: ReturnType<typeof start>): Promise<boolean> {
  const [code] = await once(child, 'close').catch(() => [1]);
  return code === 0;
}
