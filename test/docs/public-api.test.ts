import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../src/actions/controller/api-controller.ts';
import { readPage, root, tableBelow } from './markdown.ts';

const page = 'docs/reference/public-api.md';
const namesBelow = (heading: string) => tableBelow(page, heading).map(([cell]) => /^`?(\w+)/.exec(cell ?? '')?.[1] as string);
const source = (file: string) => readFileSync(join(root, 'src', file), 'utf8');

/** The names that a module exports, types included. */
function exportsOf(file: string): string[] {
  const text = source(file);
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap((match) => (match[1] as string).split(','));
  const own = [...text.matchAll(/^export (?:async )?(?:function|class|interface|type|const) (\w+)/gm)].map((match) => match[1]);
  return [...lists.map((name) => name.trim().replace(/^type /, '')), ...own]
    .filter((name): name is string => name !== undefined && name !== '' && !name.includes(' as '))
    .toSorted();
}

/** The properties of an interface. */
function optionsOf(file: string, name: string): string[] {
  const body = new RegExp(`interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source(file))?.[1] ?? '';
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map((match) => match[1] as string);
}

describe('docs/reference/public-api.md', () => {
  test.each([
    ['`declarest`', 'index.ts'],
    ['`declarest/testing`', 'testing.ts'],
  ])('lists every export below %s', (heading, file) => {
    expect(namesBelow(heading).toSorted()).toEqual(exportsOf(file));
  });

  test('lists every method of ApiController', () => {
    const methods = Object.getOwnPropertyNames(ApiController.prototype).filter((name) => name !== 'constructor');
    expect(namesBelow('Methods of `ApiController`').toSorted()).toEqual(methods.toSorted());
  });

  test('lists every option', () => {
    const options = ['DirectoryOptions', 'CodeOptions', 'CommonOptions'].flatMap((name) => optionsOf('application.ts', name));
    expect(options.length).toBeGreaterThan(10);
    expect(namesBelow('Options').toSorted()).toEqual([...new Set([...options, 'fastify'])].toSorted());
  });

  test('describes each of them, with an example and its stability', () => {
    const rows = readPage(page)
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const incomplete = rows.filter((line) => !/^\| `.+` \| .{8,} \| \[.+\]\(.+\) \| (stable|new) \|$/.test(line));
    expect(incomplete).toEqual([]);
  });
});
