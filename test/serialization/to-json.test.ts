import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateTimeToJson, isoText } from '../../src/serialization/to-json.ts';

/** The earliest and latest time of a `Date`. */
const limit = 8.64e15;

test('a time has the same text as by toISOString', () => {
  const times = fc.oneof(
    fc.integer({ min: -limit, max: limit }),
    fc.integer({ min: -100_000_000, max: 100_000_000 }),
    fc.constantFrom(-limit, limit, -1, 0, 1, -62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999, 253_402_300_800_000),
  );
  fc.assert(fc.property(times, (time) => isoText(time) === new Date(time).toISOString()));
});

test('times of more days than are remembered have the same texts', () => {
  for (let day = -6000; day < 6000; day++) {
    const time = day * 86_400_000 + 1;
    expect(isoText(time)).toBe(new Date(time).toISOString());
  }
});

test('an invalid date is null', () => {
  expect(dateTimeToJson(new Date(Number.NaN))).toBeNull();
  expect(dateTimeToJson(new Date(1.5))).toBe('1970-01-01T00:00:00.001Z');
});
