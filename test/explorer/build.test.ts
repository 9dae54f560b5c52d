import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildExplorer } from '../../scripts/build-explorer.ts';

const folder = mkdtempSync(join(tmpdir(), 'explorer-'));
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');

beforeAll(() => buildExplorer(folder));
afterAll(() => rmSync(folder, { recursive: true }));

test('the built explorer stays small', () => {
  const sizes = readdirSync(folder).map((name) => gzipSync(readFileSync(join(folder, name))).length);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(60_000);
});

test('the page has no inline script or style, and loads nothing from elsewhere', () => {
  const html = textOf('index.html');
  expect(html.match(/<script[^>]*>[^<]*<\/script>/g)).toEqual(['<script type="module" src="explorer.js"></script>']);
  expect(html).not.toMatch(/<style|style=|https?:/);
  expect(textOf('explorer.css')).not.toMatch(/@import|url\(/);
  expect(textOf('explorer.js')).not.toMatch(/\beval\(|new Function\(|dangerouslySetInnerHTML=/);
});

test('the license of the bundled library is included', () => {
  expect(textOf('LICENSE-preact.txt')).toContain('MIT');
});
