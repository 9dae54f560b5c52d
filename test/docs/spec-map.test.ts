import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { headingsOf, leadsSomewhere, root, tableBelow } from './markdown.ts';

const page = 'docs/about/spec-map.md';

/** How many claims each section of the specification makes. */
const sections: readonly (readonly [section: string, claims: number])[] = [
  ['0', 4],
  ['1', 16],
  ['2.1', 11],
  ['2.2', 17],
  ['2.3', 11],
  ['2.4', 11],
  ['3', 1],
  ['4.1', 27],
  ['4.2', 6],
  ['4.3', 11],
  ['4.4', 9],
  ['4.5', 14],
  ['5', 9],
  ['6', 1],
  ['7', 8],
  ['8', 1],
  ['9', 1],
];
/** Sections that make no claim: their one line says so. */
const empty = ['3.1', '6.1', '9.1'];

const proof = /^\[[\w-]+\]\((?:\.\.\/)+(test\/[\w/-]+\.test\.ts)\) (`[^`]+`(?:, `[^`]+`)*)$/;
const link = /\[[^\]]+\]\(([^)\s]+)\)/g;

/** The titles of the tests and blocks of a file as they are written, those of `each` included. */
function titlesIn(file: string): Set<string> {
  const titles = readFileSync(join(root, file), 'utf8').matchAll(
    /(?:\b(?:test|describe)|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g,
  );
  return new Set([...titles].map(([, , title]) => (title as string).replace(/\\(.)/g, '$1')));
}

describe('docs/about/spec-map.md', () => {
  const headings = headingsOf(page).slice(1, -1);
  const rows = headings.flatMap((heading) => tableBelow(page, heading));
  const claims = rows.filter(([id = '']) => !empty.includes(id));

  test('has every section of the specification, in order, and the deviations', () => {
    expect(headings.map((heading) => /^[\d.]*\d/.exec(heading)?.[0])).toEqual(sections.map(([section]) => section));
    expect(headingsOf(page).at(-1)).toBe('Deviations');
  });

  test('has every claim of every section, in the same order', () => {
    const expected = sections.flatMap(([section, count]) =>
      Array.from({ length: count }, (_, index) => `${section}.${index + 1}`),
    );
    expect(rows.map(([id]) => id)).toEqual(expected);
    expect(rows.filter((row) => row.length !== 4 || row.includes(''))).toEqual([]);
  });

  test('names a heading of a page for each claim', () => {
    const vague = claims.filter(([, , documented = '']) => {
      const links = [...documented.matchAll(link)].map(([, target]) => target as string);
      return links.length === 0 || !links.every((target) => /\.md#./.test(target) && leadsSomewhere(page, target));
    });
    expect(vague).toEqual([]);
  });

  test('names tests for each claim, by their files and titles', () => {
    const vague = claims.flatMap(([id, , , proved = '']) =>
      proved
        .split('; ')
        .filter((text) => {
          const [, file = '', titles = ''] = proof.exec(text) ?? [];
          if (!file || !existsSync(join(root, file))) return true;
          const written = titlesIn(file);
          return !titles
            .slice(1, -1)
            .split('`, `')
            .every((title) => written.has(title));
        })
        .map((text) => `${id}: ${text}`),
    );
    expect(vague).toEqual([]);
  });

  test('gives the deviation and the reason, only for claims that it has', () => {
    const deviations = tableBelow(page, 'Deviations');
    const ids = rows.map(([id]) => id);
    expect(deviations.length).toBeGreaterThan(0);
    expect(deviations.filter((row) => row.length !== 3 || row.includes(''))).toEqual([]);
    expect(deviations.flatMap(([of = '']) => of.split(', ')).filter((id) => !ids.includes(id))).toEqual([]);
  });
});
