import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { seed, seedVariable } from './test/support/random.ts';
import { selectedDatabases } from './test/support/selected-databases.ts';
import { notUnitTests, unitTests } from './test/support/unit-tests.ts';

/** What waits most comes first, so that the last file is not waited for alone. By themselves files are ordered by their size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/test/chaos/');
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * Files that leave nothing behind in their process, and so share one with others: most of what a short file takes is loading the code
 * that it tests. Others have a process each, above all those that look at memory, time, or what was loaded.
 */
const together = ['actions', 'attacks', 'change', 'model', 'query', 'response', 'route', 'serialization', 'spec', 'store'].map(
  (name) => `test/${name}/**/*.test.ts`,
);

/** Every test, in two projects that differ in how files share processes. */
const projects = [
  { extends: true as const, test: { name: 'together', include: together, isolate: false } },
  {
    extends: true as const,
    test: {
      name: 'alone',
      include: ['test/**/*.test.ts', 'examples/*/test/**/*.test.ts'],
      exclude: [...configDefaults.exclude, ...together],
    },
  },
];

/** What is left without any database. */
const unit = {
  extends: true as const,
  test: { name: 'unit', include: [...unitTests], exclude: [...configDefaults.exclude, ...notUnitTests] },
};

process.env[seedVariable] = String(seed);
if (!process.env.VITEST_WORKER_ID) console.log(`random tests begin at ${seedVariable}=${seed}`);

export default defineConfig({
  test: {
    projects: selectedDatabases().length === 0 ? [unit] : projects,
    globalSetup: ['test/support/sqlite.ts', 'test/support/postgres.ts'],
    setupFiles: ['test/support/random.ts', 'test/support/documents/watch-answers.ts'],
    pool: 'forks',
    // the default leaves one core idle, which of two is half; and many tests wait for timers and processes
    maxWorkers: Math.max(2, availableParallelism()) + 1,
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 30_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary', 'html'],
      thresholds: {
        lines: 95,
        // Who may see what is decided here: no line of it goes untested.
        'src/access/**': { lines: 100 },
        'src/model/groups*.ts': { lines: 100 },
      },
    },
  },
});
