import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkYaml } from './check-yaml.ts';
import { blocksOf, headingsOf, leadsSomewhere, linksOf, pages, readPage, root, tableBelow } from './markdown.ts';

describe.each(pages)('%s', (page) => {
  test('links to files and headings that exist', () => {
    const broken = linksOf(page).filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link));
    expect(broken).toEqual([]);
  });

  test('shows valid configuration', () => {
    const shown = blocksOf(page).filter(({ language, marks }) => language === 'yaml' && marks.broken === undefined);
    const classes = blocksOf(page)
      .filter(({ language }) => language === 'ts')
      .flatMap(({ text }) => [...text.matchAll(/^export (?:const|class) (\w+)/gm)].map(([, name = '']) => name));
    expect(
      shown.flatMap(({ text, line }) => checkYaml(parse(text), classes).map((fault) => `${page}:${line}: ${fault}`)),
    ).toEqual([]);
  });

  test('shows valid JSON', () => {
    for (const { language, text } of blocksOf(page)) if (language === 'json') expect(() => JSON.parse(text)).not.toThrow();
  });
});

describe('the decision records', () => {
  const records = pages.filter((page) => /^docs\/decisions\/\d/.test(page));

  test('are numbered without gaps', () => {
    expect(records.map((page) => Number(posix.basename(page).slice(0, 4)))).toEqual(records.map((_, index) => index + 1));
  });

  test.each(records)('%s is short and has its three parts', (page) => {
    expect(headingsOf(page).slice(1)).toEqual(['Context', 'Decision', 'Consequences']);
    expect(readPage(page).split('\n').length).toBeLessThan(40);
  });

  test('are all listed', () => {
    expect(linksOf('docs/decisions/README.md').map((link) => `docs/decisions/${link}`)).toEqual(records);
  });
});

test.each(pages.filter((page) => page !== 'CONTRIBUTING.md'))('%s has no links outside of the repository', (page) => {
  expect(linksOf(page).filter((link) => /^[a-z]+:/.test(link))).toEqual([]);
});

test('src/README.md describes every folder of src', () => {
  const layers = readFileSync(join(root, 'scripts', 'walls.ts'), 'utf8');
  const folders = [...layers.matchAll(/^ {2}\[?'(\w+)'(?:, '(\w+)'\])?,$/gm)].flatMap(([, ...names]) => names.filter(Boolean));
  const present = folders.filter((folder) => existsSync(join(root, 'src', folder as string)));
  expect(present.length).toBeGreaterThan(5);
  const text = readPage('src/README.md');
  expect(present.filter((folder) => !text.includes(`\`${folder}\``))).toEqual([]);
});

describe('README.md', () => {
  const text = readPage('README.md');

  test('names the version of Node that package.json asks for', () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
    expect(text).toContain(`Node ${engines.node.replace('>=', '')} or newer`);
  });

  test('claims no more speed than the benchmark measured', () => {
    expect(text).toContain('at least four times as often per second');
    const measured = tableBelow('bench/README.md', 'ARM64').find(([work]) =>
      work?.startsWith('relative to the best of the frameworks'),
    );
    const ratios = measured?.[1]?.split(', ').map(Number) ?? [];
    expect(ratios.length).toBeGreaterThan(3);
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(4);
  });

  test('shows a picture under 300 kB', () => {
    const [picture = ''] = linksOf('README.md').filter((link) => link.endsWith('.png'));
    expect(statSync(join(root, picture)).size).toBeLessThan(300_000);
  });
});

test('the threat model names a test file for each threat', () => {
  const [, threats = ''] = readPage('THREATS.md').split(/^## (?:Threats and mechanisms|Left to the operator)$/m);
  const rows = threats.split('\n').filter((line) => /^\| (?!threat |---)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => !/\]\(test\/[^)]+\.test\.ts\) *\|$|\]\(test\/[^)]+\.test\.ts\), /.test(row))).toEqual([]);
});
