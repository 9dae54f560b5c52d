import { defineConfig } from 'vitest/config';

/** The tests that need no database: quick enough to be run for every mutant. */
export default defineConfig({
  test: {
    include: ['test/access/**/*.test.ts', 'test/model/**/*.test.ts'],
    testTimeout: 20_000,
  },
});
