import { expect, test } from 'vitest';
import { type Filtering, filterOperators, operatorsSuiting } from '../../src/declaration/filter-operators.ts';
import { knownFormats } from '../../src/declaration/types.ts';
import { contentTypes } from '../../src/serialization/formats.ts';
import { readPage } from './markdown.ts';

/** The rows of every table of a page, as cells. */
function rowsOf(page: string): string[][] {
  const lines = readPage(page)
    .split('\n')
    .filter((line) => line.startsWith('| '));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function codesIn(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);
}

const types: Readonly<Record<Filtering, RegExp>> = {
  textual: /^text$/,
  ordered: /^integer, /,
  named: /^enum, /,
  boolean: /^boolean$/,
  none: /^association, /,
};

test.each(Object.entries(types))('docs/reference/query-syntax.md has the operators for the field type %s', (filtering, type) => {
  const row = rowsOf('docs/reference/query-syntax.md').find(([cell]) => type.test(cell ?? ''));
  expect(codesIn(row?.[1])).toEqual(operatorsSuiting(filtering as Filtering));
});

test('docs/reference/query-syntax.md explains every operator', () => {
  const explained = rowsOf('docs/reference/query-syntax.md').flatMap(([cell]) => codesIn(cell));
  expect(explained).toEqual(expect.arrayContaining([...filterOperators]));
});

test('docs/reference/formats.md has every format with its content type', () => {
  const rows = rowsOf('docs/reference/formats.md').filter((cells) => cells.length === 4 && cells[0]?.startsWith('`'));
  const documented = rows.map((cells) => [codesIn(cells[0])[0], codesIn(cells[3])[0]]);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(knownFormats.map((name) => [name, contentTypes[name]])));
});
