import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { adoptRetiredHooks } from '../../src/actions/controller/controller-class.ts';
import { ApiController } from '../../src/index.ts';
import { Console, matchesShown, stepsOf } from './console.ts';
import { blocksOf, pages, readPage, root, tableBelow } from './markdown.ts';

const short = pages.filter((page) => /^docs\/(?:about|concepts)\//.test(page) && page !== 'docs/about/spec-map.md');

describe.each(short)('%s', (page) => {
  test('has at most 1,500 words', () => {
    expect(readPage(page).split(/\s+/).length).toBeLessThanOrEqual(1500);
  });

  const steps = blocksOf(page)
    .filter(({ language, marks }) => language === 'console' && marks.app === 'courses')
    .flatMap(({ text }) => stepsOf(text));
  test.each(steps)('shows the output of $command', async ({ command, shown }) => {
    const cwd = join(root, 'examples', 'courses');
    const actual = await new Console(cwd, { cwd, env: { DATABASE_URL: 'sqlite::memory:' } }).run(command);
    if (!matchesShown(shown, actual)) expect(actual).toBe(shown);
  });
});

test('docs/about/upgrading.md lists renamed hooks that are still called by their old names', () => {
  const renamed = tableBelow('docs/about/upgrading.md', 'Rename hooks');
  class OldController extends ApiController {}
  for (const [from = ''] of renamed) Object.defineProperty(OldController.prototype, from, { value: () => from });
  expect(adoptRetiredHooks(OldController).map(({ from, to }) => [from, to])).toEqual(renamed);
});
