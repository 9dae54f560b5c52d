// Divides the tests of files that begin with `// @module-tag divided` between the databases: a test that the file registers for both
// SQLite and PostgreSQL runs on one of them. The seed decides on which, so it changes with the sources. `TEST_ALL=1`, or choosing tests
// by their names, runs every test on both.
import { type RunnerTask, type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';
import { seed } from './random.ts';
import { databaseKinds, selectedDatabases } from './selected-databases.ts';

type Collected = (files: RunnerTestFile[]) => unknown;

const names = new RegExp(`\\b(${databaseKinds.join('|')})\\b`, 'g');

/** The two of a pair have the same names, except for the database, and the same place in the source. */
function pairsOf(tests: readonly RunnerTestCase[]): RunnerTestCase[][] {
  const found = new Map<string, (RunnerTestCase | undefined)[]>();
  const registered = new Map<string, number>();
  for (const test of tests) {
    const name = test.fullTestName;
    const kind = name.match(names)?.[0];
    if (kind === undefined || !test.tags?.includes('divided')) continue;
    const place = `${test.location?.line}:${test.location?.column}`;
    const count = registered.get(`${place} ${name}`) ?? 0;
    registered.set(`${place} ${name}`, count + 1);
    const key = `${place} ${count} ${name.replaceAll(names, '')}`;
    const pair = found.get(key) ?? [];
    pair[databaseKinds.indexOf(kind as (typeof databaseKinds)[number])] = test;
    found.set(key, pair);
  }
  return [...found.values()].filter((pair): pair is RunnerTestCase[] => pair[0] !== undefined && pair[1] !== undefined);
}

function testsIn(tasks: readonly RunnerTask[]): RunnerTestCase[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task.tasks) : [task]));
}

/** Suites without tests are removed as well. */
function remove(suite: RunnerTestSuite, removed: ReadonlySet<RunnerTask>): void {
  suite.tasks = suite.tasks.filter((task) => {
    if (task.type !== 'suite') return !removed.has(task);
    if (task.tasks.length === 0) return true;
    remove(task, removed);
    return task.tasks.length > 0;
  });
}

/** Neighbors run on different databases, so a test that needs the one before it fails with every seed. */
export function divide(file: RunnerTestFile, turn = seed): void {
  const removed = pairsOf(testsIn(file.tasks)).map((pair, index) => pair[(index + turn) % 2] as RunnerTestCase);
  remove(file, new Set(removed));
}

export default class DividingRunner extends TestRunner {
  // Vitest replaces this method with one that reports the tests
  #report: Collected | undefined;

  get onCollected(): Collected | undefined {
    const report = this.#report;
    return report && ((files) => this.#divided(files, report));
  }

  set onCollected(report: Collected | undefined) {
    this.#report = report;
  }

  #divided(files: RunnerTestFile[], report: Collected): unknown {
    const divides = selectedDatabases().length > 1 && !process.env.TEST_ALL && !this.config.testNamePattern;
    if (divides) for (const file of files) divide(file);
    return report(files);
  }
}
