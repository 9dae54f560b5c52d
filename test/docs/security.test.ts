import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { leadsSomewhere, readPage } from './markdown.ts';

const page = 'docs/about/security.md';

/** The bullets, with the lines that they go on in, and the rows of tables below their heads. */
function claimsOf(text: string): string[] {
  const outside = text.replace(/^```[\s\S]*?^```$/gm, '');
  const bullets = outside.match(/^- .*(?:\n {2}\S.*)*/gm) ?? [];
  const rows = [...outside.matchAll(/^\|.*\|\n\|[ :|-]+\|\n((?:\|.*\|\n?)+)/gm)];
  return [...bullets, ...rows.flatMap((table) => (table[1] as string).trim().split('\n'))];
}

describe('the page about security', () => {
  test('links every claim to tests that exist', () => {
    const claims = claimsOf(readPage(page));
    expect(claims.length).toBeGreaterThan(25);
    const unproven = claims.filter((claim) => {
      const links = [...claim.matchAll(/\]\(((?:\.\.\/)+test\/[^)\s]+\.ts)\)/g)].map((match) => match[1] as string);
      return links.length === 0 || !links.every((link) => leadsSomewhere(page, link));
    });
    expect(unproven).toEqual([]);
  });

  test('detects claims without a link', () => {
    expect(claimsOf('- one\n  goes on\n\n| a | b |\n| --- | --- |\n| c | d |\n')).toEqual(['- one\n  goes on', '| c | d |']);
  });

  test('names every attack test file', () => {
    const files = readdirSync(new URL('../attacks', import.meta.url)).filter((name) => name.endsWith('.ts'));
    expect(files.filter((name) => !readPage(page).includes(`(../../test/attacks/${name})`))).toEqual([]);
  });
});
