import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ShortLivedMap } from '../../src/database/short-lived-map.ts';
import { oldGarbage } from '../support/old-garbage.ts';

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ set: fc.integer({ min: 0, max: 50 }) }) },
    { weight: 2, arbitrary: fc.record({ delete: fc.integer({ min: 0, max: 50 }) }) },
  ),
  { minLength: 1000, maxLength: 3000 },
);

test('has the entries of a map, in the same order', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const map = new Map<number, number>();
      const shortLived = new ShortLivedMap<number, number>();
      for (const [i, step] of all.entries()) {
        for (const each of [map, shortLived]) {
          if ('set' in step) each.set(step.set, i);
          else each.delete(step.delete);
        }
        if (i % 100 !== 0) continue;
        expect([...shortLived]).toEqual([...map]);
        expect([...shortLived.keys()]).toEqual([...map.keys()]);
      }
      expect(shortLived.size).toBe(map.size);
      for (let key = 0; key <= 50; key++)
        expect([shortLived.has(key), shortLived.get(key)]).toEqual([map.has(key), map.get(key)]);
    }),
    { numRuns: 20 },
  );
});

/** Megabytes that removed entries take in the old generation. */
function retained(kind: 'Map' | 'ShortLivedMap'): number {
  return oldGarbage(`
    import { ShortLivedMap } from ${JSON.stringify(join(import.meta.dirname, '../../src/database/short-lived-map.ts'))};
    const map = new ${kind}();
    const work = (i) => {
      map.set(i, Array.from({ length: 50 }, () => ({ i })));
      map.delete(i - 64);
    };`);
}

test('does not move removed entries to the old generation, as a map does', () => {
  const [plain, shortLived] = [retained('Map'), retained('ShortLivedMap')];
  expect(shortLived).toBeLessThan(5);
  // once this fails, V8 has no need for the class any more
  expect(plain).toBeGreaterThan(20);
});
