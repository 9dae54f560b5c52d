import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withProgress } from '../../src/cli/progress.ts';
import { testIo } from './call.ts';

test('a long operation shows a line on a terminal, and removes it at the end', async () => {
  const io = testIo({ isTTY: true });
  expect(await withProgress(io, 'migrating', () => sleep(1200, 'done'))).toBe('done');
  expect(io.printed.out).toBe('');
  expect(io.printed.err).toContain('migrating… ');
  expect(io.printed.err.endsWith('\r\u001b[2K')).toBe(true);
});

test('the line is removed before other output, and after a failure', async () => {
  const io = testIo({ isTTY: true });
  const work = withProgress(io, 'migrating', async (pause) => {
    await sleep(700);
    pause();
    io.stderr.write('news\n');
    throw new Error('broken');
  });
  await expect(work).rejects.toThrow('broken');
  expect(io.printed.err.endsWith('migrating… 0 s\r\u001b[2Knews\n')).toBe(true);
});

test.each([
  ['a short operation', { isTTY: true }, 0],
  ['an output that is not a terminal', {}, 700],
  ['a dumb terminal', { isTTY: true, env: { TERM: 'dumb' } }, 700],
])('%s shows nothing', async (_, world, duration) => {
  const io = testIo(world);
  await withProgress(io, 'migrating', () => sleep(duration));
  expect(io.printed).toEqual({ out: '', err: '' });
});
