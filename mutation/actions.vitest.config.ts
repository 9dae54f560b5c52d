import { defineConfig } from 'vitest/config';

process.env.DECLAREST_TEST_DATABASES = 'sqlite';

/** Tests of the actions and the stores on SQLite: a mutant takes seconds. `MUTATION_TESTS` names others. */
export default defineConfig({
  test: {
    include: process.env.MUTATION_TESTS?.split(',') ?? ['test/actions/**/*.test.ts', 'test/store/**/*.test.ts'],
    globalSetup: ['test/support/run-directory.ts', 'test/support/postgres.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
