import { expect, test } from 'vitest';
import { hasSerialOrder, type Operation } from '../../chaos/serial-order.ts';
import { permutations, Random, seed } from '../support/random.ts';

const write = (start: number, end: number, value: string): Operation<string> => ({ kind: 'write', value, start, end });
const read = (start: number, end: number, value: string): Operation<string> => ({ kind: 'read', value, start, end });
const lost = (start: number, end: number, value: string): Operation<string> => ({ ...write(start, end, value), isOpen: true });

test.each([
  ['concurrent writes in the order that the last state shows', [write(0, 9, 'a'), write(1, 8, 'b')], 'a', true],
  ['a write after another that is lost', [write(0, 1, 'a'), write(2, 3, 'b')], 'a', false],
  ['a read that began after a write and does not show it', [write(0, 1, 'a'), read(2, 3, '')], 'a', false],
  ['a read beside a write that does not show it', [write(0, 3, 'a'), read(2, 5, '')], 'a', true],
  [
    'two reads that show two writes in the wrong order',
    [write(0, 9, 'a'), write(1, 2, 'b'), read(3, 4, 'a'), read(5, 6, 'b')],
    'a',
    false,
  ],
  ['a write without a response that took effect', [lost(0, 4, 'a'), read(1, 2, ''), read(3, 5, 'a')], 'a', true],
  ['a write without a response that did not', [lost(0, 4, 'a'), read(5, 6, '')], '', true],
  ['a write without a response that took effect before its start', [read(0, 1, 'a'), lost(2, 3, 'a')], 'a', false],
  [
    'a write without a response that took effect after its process died',
    [lost(0, 1, 'a'), read(2, 3, ''), read(4, 5, 'a')],
    'a',
    false,
  ],
] as const)('a serial order of %s', (_, operations, last, expected) => {
  expect(hasSerialOrder([...operations], '', last)).toBe(expected);
});

test('the result is that of all orders, tried one by one', () => {
  const random = new Random(seed);
  const results = new Set<boolean>();
  for (let round = 0; round < 300; round++) {
    const operations = Array.from({ length: 5 }, () => {
      const start = random.below(8);
      const end = start + random.below(5) + 0.5;
      if (random.chance(0.2)) return lost(start, end, random.of(['a', 'b']));
      return random.chance(0.5) ? write(start, end, random.of(['a', 'b'])) : read(start, end, random.of(['', 'a', 'b']));
    });
    const last = random.of(['a', 'b']);
    // an operation without a response is a write, or nothing
    const open = operations.flatMap(({ isOpen }, i) => (isOpen ? [i] : []));
    const outcomes = Array.from({ length: 2 ** open.length }, (_, bits) =>
      operations.filter((_, i) => !open.includes(i) || bits & (1 << open.indexOf(i))),
    );
    const isOrder = outcomes.some((effective) =>
      permutations([...effective.keys()]).some((order) => {
        const placed = order.map((index) => effective[index] as Operation<string>);
        const keepsTime = placed.every(({ start }, i) => placed.slice(i + 1).every(({ end }) => end >= start));
        const before = (i: number) => placed.slice(0, i).findLast(({ kind }) => kind === 'write')?.value ?? '';
        const fits = placed.every(({ kind, value }, i) => kind === 'write' || value === before(i));
        return keepsTime && fits && before(placed.length) === last;
      }),
    );
    expect({ round, seed, found: hasSerialOrder(operations, '', last) }).toEqual({ round, seed, found: isOrder });
    results.add(isOrder);
  }
  expect(results.size).toBe(2);
});
