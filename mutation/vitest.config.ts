import { defineConfig } from 'vitest/config';
import { warmPool } from './warm-pool.ts';

const named = process.env.MUTATION_TESTS?.split(',');

/** Replaces modules, so it has a process of its own. */
const apart = 'test/access/development-key.test.ts';

/** Starts other processes, in which no code is changed. */
const elsewhere = 'test/model/other-copy.test.ts';

/**
 * The tests that need no database: quick enough to be run for every mutant. `MUTATION_TESTS` names fewer of them. They share a process,
 * because most of their time is loading modules.
 */
export default defineConfig({
  plugins: [warmPool],
  test: {
    testTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: named ?? ['test/access/**/*.test.ts', 'test/model/**/*.test.ts'],
          exclude: [apart, elsewhere],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'apart', include: named ? named.filter((file) => file === apart) : [apart] } },
    ],
  },
});
