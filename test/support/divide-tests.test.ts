import type { RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest';
import { expect, test } from 'vitest';
import { divide } from './divide-tests.ts';

type Task = RunnerTestCase | RunnerTestSuite;

const titled = (name: string, line: number, tags = ['divided']) =>
  ({ type: 'test', name, tags, location: { line, column: 1 } }) as unknown as RunnerTestCase;
const suite = (name: string, tasks: Task[]) => ({ type: 'suite', name, tasks }) as unknown as RunnerTestSuite;

/** The full names of the tests that are left. */
function left(tasks: Task[], turn: number): string[] {
  const named = (some: readonly Task[], before: string): void => {
    for (const task of some) {
      Object.assign(task, { fullTestName: `${before}${task.name}` });
      if (task.type === 'suite') named(task.tasks as Task[], `${before}${task.name} > `);
    }
  };
  named(tasks, '');
  const file = { tasks } as unknown as RunnerTestFile;
  divide(file, turn);
  const names = (some: readonly Task[]): string[] =>
    some.flatMap((task) =>
      task.type === 'suite'
        ? task.tasks.length > 0
          ? names(task.tasks as Task[])
          : [`empty: ${task.name}`]
        : [task.fullTestName],
    );
  return names(file.tasks as Task[]);
}

const both = (tasksOn: (kind: string) => Task[]) =>
  ['sqlite', 'postgresql'].map((kind) => suite(`rows on ${kind}`, tasksOn(kind)));

test('each test for two databases runs on one of them, on the other with the next seed, and neighbors on different ones', () => {
  const tasks = () => both(() => [titled('are read', 1), titled('are written', 2), titled('are written', 2)]);
  expect(left(tasks(), 0)).toEqual([
    'rows on sqlite > are written',
    'rows on postgresql > are read',
    'rows on postgresql > are written',
  ]);
  expect(left(tasks(), 1)).toEqual([
    'rows on sqlite > are read',
    'rows on sqlite > are written',
    'rows on postgresql > are written',
  ]);
});

test.each([0, 1])('a test for one database always runs, seed %i', (turn) => {
  const tasks = both((kind) => [titled('are read', 1), ...(kind === 'sqlite' ? [titled('are in a file', 2)] : [])]);
  expect(left(tasks, turn)).toContain('rows on sqlite > are in a file');
  expect(left([titled('without a database', 1)], turn)).toEqual(['without a database']);
});

test.each([0, 1])('tests of the same name from different places are not a pair, seed %i', (turn) => {
  const tasks = [suite('on sqlite', [titled('locks', 1)]), suite('on postgresql', [titled('locks', 2)])];
  expect(left(tasks, turn)).toEqual(['on sqlite > locks', 'on postgresql > locks']);
});

test.each([0, 1])('a test without the tag runs on both, seed %i', (turn) => {
  expect(
    left(
      both(() => [titled('are read', 1, [])]),
      turn,
    ),
  ).toHaveLength(2);
});

test.each([0, 1])('a suite without tests is left out, with its hooks, seed %i', (turn) => {
  expect(
    left(
      both(() => [suite('nested', [titled('are read', 1)])]),
      turn,
    ),
  ).toHaveLength(1);
  expect(
    left(
      both(() => [suite('nested', [titled('are read', 1)])]),
      turn,
    ),
  ).not.toContain('empty: nested');
});
