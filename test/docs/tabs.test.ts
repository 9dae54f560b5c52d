import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Block, blocksOf, pages, root } from './markdown.ts';

const pairs = pages.flatMap((page) => {
  const blocks = blocksOf(page);
  return blocks.flatMap((block, index) =>
    'tab' in block.marks ? [{ page, line: block.line, yaml: blocks[index - 1], ts: block }] : [],
  );
});

describe('a TypeScript tab beside YAML', () => {
  test('exists', () => {
    expect(pairs.length).toBeGreaterThan(2);
  });

  test.each(pairs)('declares the same: $page:$line', async ({ yaml, ts }) => {
    expect(yaml?.language).toBe('yaml');
    expect(await declaredBy(ts)).toEqual(parse((yaml as Block).text));
  });
});

/** What the module exports, with the names of its classes, which are empty here. */
async function declaredBy({ text }: Block): Promise<unknown> {
  const source = text
    .replace(/^import \{ (\w+) \} from '\.\.\/src\/.*';$/gm, 'class $1 {}')
    .replace("'declarest'", JSON.stringify(join(root, 'src', 'index.ts')));
  const module = await import(`data:text/javascript,${encodeURIComponent(source.replaceAll(root, `file://${root}`))}`);
  return JSON.parse(JSON.stringify(module.default, (_, value) => (typeof value === 'function' ? value.name : value)));
}
