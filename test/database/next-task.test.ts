import { expect, test } from 'vitest';
import { takeNext } from '../../src/database/next-task.ts';

const task = (kind: string, number: number) => ({ kind, number });

test('waiting tasks run in order, but first one of a kind that is not running', () => {
  const waiting = [task('page', 1), task('page', 2), task('count', 3), task('page', 4)];
  const taken = [
    takeNext(waiting, []),
    takeNext(waiting, [task('page', 1)]),
    takeNext(waiting, [task('page', 1), task('count', 3)]),
    takeNext(waiting, [task('count', 3)]),
  ];
  expect(taken.map(({ number }) => number)).toEqual([1, 3, 2, 4]);
  expect(waiting).toEqual([]);
});
