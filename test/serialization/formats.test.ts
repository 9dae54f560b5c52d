import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rewriteInTurns, rewriteJson } from '../../src/serialization/formats.ts';

const formats = ['xml', 'csv', 'ndjson', 'json'] as const;

/** Rewrites JSON, and counts the turns of the event loop that it takes. */
async function rewritten(format: (typeof formats)[number], json: string): Promise<{ text: string; turns: number }> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const text = await rewriteInTurns(format, json, null);
  isOver = true;
  return { text, turns };
}

const lines = Array.from({ length: 15_000 }, (_, id) => ({ id, name: `line ${id}`, tags: [id, null, { a: 'ü<' }] }));

describe('long JSON that is rewritten', () => {
  test.each(formats)('is the same as short JSON in %s, whatever its form', async (format) => {
    const parts = fc.jsonValue({ depthSize: 'small' });
    await fc.assert(
      fc.asyncProperty(parts, async (value) => {
        // long enough by a member that takes no time
        const json = JSON.stringify({ value, padding: 'x'.repeat(70_000), list: [value, value] });
        expect((await rewritten(format, json)).text).toBe(rewriteJson(format, json, null));
      }),
      { numRuns: 30 },
    );
  });

  test.each(['xml', 'csv'] as const)('lets other requests run in between in %s', async (format) => {
    for (const value of [
      { lines, others: lines },
      { count: 1, results: lines, pagination: {} },
    ]) {
      const json = JSON.stringify(value);
      const { text, turns } = await rewritten(format, json);
      expect(text).toBe(rewriteJson(format, json, null));
      expect(turns).toBeGreaterThan(2);
    }
  });
});
