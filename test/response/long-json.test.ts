import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonInTurns } from '../../src/response/long-json.ts';

/** What application code can return beyond JSON. */
const odd = fc.oneof(
  fc.constantFrom(undefined, () => 1, Symbol('s'), Number.NaN, new Date(0), new Map([[1, 2]]), Object.create(null)),
  fc.option(fc.string(), { nil: undefined }).map((text) => ({ toJSON: () => text })),
);

test('JSON written in turns equals JSON.stringify, whatever application code returned', async () => {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      odd,
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 5 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(value, async (given) => {
      expect(await jsonInTurns({ given })).toBe(JSON.stringify({ given }));
    }),
    { numRuns: 1000 },
  );
});
