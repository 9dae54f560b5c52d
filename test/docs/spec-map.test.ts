import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { headingsOf, linksOf, root, tableBelow } from './markdown.ts';

const page = 'docs/spec-map.md';

/** How many numbered sentences, rows or points each section has; one without any is mapped as a whole. */
const sections: readonly (readonly [section: string, count: number])[] = [
  ['1', 7],
  ['2.1', 0],
  ['2.2', 0],
  ['2.3', 0],
  ['2.4', 4],
  ['3', 0],
  ['4.1', 5],
  ['4.2', 3],
  ['4.3', 4],
  ['4.4', 4],
  ['4.5', 5],
  ['5', 3],
  ['6', 0],
  ['7', 4],
  ['8', 0],
  ['9', 0],
];
const wholeToo = ['4.1'];

describe('docs/spec-map.md', () => {
  const headings = headingsOf(page).slice(1);
  const rows = headings.flatMap((heading) => tableBelow(page, heading));

  test('has every section of the specification, in order', () => {
    expect(headings.map((heading) => /^[\d.]*\d/.exec(heading)?.[0])).toEqual(sections.map(([section]) => section));
  });

  test('has every numbered sentence of every section', () => {
    const expected = sections.flatMap(([section, count]) => [
      ...(count === 0 || wholeToo.includes(section) ? [section] : []),
      ...Array.from({ length: count }, (_, index) => `${section}.${index + 1}`),
    ]);
    expect(rows.map(([id]) => id)).toEqual(expected);
  });

  test('names for each a page and a test, or says that there is nothing', () => {
    const vague = rows.filter(([, , documented = '', shown = '']) => {
      const nothing = documented.startsWith('nothing') && shown.startsWith('nothing');
      return !nothing && !(documented.includes('.md') && shown.includes('.test.ts'));
    });
    expect(vague).toEqual([]);
  });

  test('names tests that exist', () => {
    const tests = linksOf(page).filter((link) => link.endsWith('.test.ts'));
    expect(tests.length).toBeGreaterThan(rows.length / 2);
    expect(tests.filter((link) => !existsSync(join(root, 'docs', link)))).toEqual([]);
  });
});
