import { defineConfig } from 'vitest/config';
import { warmPool } from './warm-pool.ts';

process.env.DECLAREST_TEST_DATABASES = 'sqlite';

/** Tests of the actions and the stores on SQLite: a mutant takes seconds. `MUTATION_TESTS` names others. */
export default defineConfig({
  plugins: [warmPool],
  test: {
    include: process.env.MUTATION_TESTS?.split(',') ?? ['test/actions/**/*.test.ts', 'test/store/**/*.test.ts'],
    isolate: false,
    globalSetup: ['test/support/run-directory.ts', 'test/support/postgres.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
