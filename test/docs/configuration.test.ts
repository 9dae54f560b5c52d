import { describe, expect, test } from 'vitest';
import { headingsOf, tableBelow } from './markdown.ts';
import { defaultText, sections } from './schema-keys.ts';

const page = 'docs/reference/configuration.md';
const all = sections();
const headings = headingsOf(page).map((heading) => heading.replaceAll('`', ''));

describe('docs/reference/configuration.md', () => {
  test('has exactly the mappings of the schema', () => {
    const documented = headings.slice(headings.indexOf('Every key') + 1);
    expect(documented.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
  });

  test.each(all)('has exactly the keys of $name with their defaults', ({ name, keys }) => {
    const heading = name.startsWith('The ') ? name : `\`${name}\``;
    const rows = tableBelow(page, heading).map(([key, , value]) => [key, value]);
    expect(rows).toEqual(Object.entries(keys).map(([key, declared]) => [key, defaultText(declared)]));
  });
});
