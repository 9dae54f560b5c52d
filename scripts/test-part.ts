// Runs a part of the tests: `node scripts/test-part.ts unit` or `spec`. It ends with a list of omitted files and tests.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { databasesVariable } from '../test/support/selected-databases.ts';
import { type PartReport, summarizePart } from './summary.ts';

interface Part {
  /** The value of the environment variable that selects databases. */
  readonly databases: string;
  /** Select some of the test files that the configuration of Vitest has for these databases. */
  readonly filters: readonly string[];
  readonly without: string;
}

const parts: Readonly<Record<string, Part>> = {
  unit: { databases: 'none', filters: [], without: 'every database' },
  spec: { databases: 'sqlite', filters: ['test/spec/'], without: 'PostgreSQL' },
};

const [name = '', ...options] = process.argv.slice(2);
const part = parts[name];
if (part) process.exitCode = run(part);
else {
  console.error(`unknown part "${name}"; known: ${Object.keys(parts).join(', ')}`);
  process.exitCode = 2;
}

function run({ databases, filters, without }: Part): number {
  const root = join(import.meta.dirname, '..');
  const reportFile = join(tmpdir(), `declarest-test-${name}-${process.pid}.json`);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...filters, '--allowOnly=false', ...reporters, ...options], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, [databasesVariable]: databases },
  });
  const report: PartReport | undefined = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined;
  rmSync(reportFile, { force: true });
  const all = globSync(['test/**/*.test.ts', 'examples/*/test/**/*.test.ts'], { cwd: root });
  const ran = new Set(report?.testResults.map((file) => relative(root, file.name)));
  const leftOut = all.map((file) => file.replaceAll('\\', '/')).filter((file) => !ran.has(file));
  const { lines, isPassed } = summarizePart({ name, without, tested: status === 0, report, files: all.length, leftOut });
  for (const line of lines) console.log(line);
  return isPassed ? 0 : 1;
}
