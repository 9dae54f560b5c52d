import { expect, test } from 'vitest';
import { takeNext } from '../../src/database/next-task.ts';

const task = (name: string, number: number) => ({ statement: { name, text: name, wide: false }, number });

test('those that wait are taken in order, but first one of a kind that does not run', () => {
  const waiting = [task('page', 1), task('page', 2), task('count', 3), task('page', 4)];
  const taken = [
    takeNext(waiting, [null, null]),
    takeNext(waiting, [task('page', 1), null]),
    takeNext(waiting, [task('page', 1), task('count', 3)]),
    takeNext(waiting, [null, task('count', 3)]),
  ];
  expect(taken.map(({ number }) => number)).toEqual([1, 3, 2, 4]);
  expect(waiting).toEqual([]);
});
