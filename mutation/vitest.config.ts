import { defineConfig } from 'vitest/config';

/** The tests that need no database: quick enough to be run for every mutant. `MUTATION_TESTS` names fewer of them. */
export default defineConfig({
  test: {
    include: process.env.MUTATION_TESTS?.split(',') ?? ['test/access/**/*.test.ts', 'test/model/**/*.test.ts'],
    testTimeout: 20_000,
  },
});
