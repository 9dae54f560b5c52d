import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What waits most comes first, so that the last file is not waited for alone. By themselves files are ordered by their size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/test/chaos/');
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'examples/*/test/**/*.test.ts'],
    globalSetup: ['test/support/sqlite.ts', 'test/support/postgres.ts'],
    setupFiles: ['test/support/documents/watch-answers.ts'],
    pool: 'forks',
    // the default leaves one core idle, which of two is half
    maxWorkers: Math.max(2, availableParallelism()),
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
