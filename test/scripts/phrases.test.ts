import { describe, expect, test } from 'vitest';
import { phrasesIn, phrasesInLiterals } from '../../scripts/phrases.ts';

const shown = (found: ReturnType<typeof phrasesIn>) => found.map(({ line, text }) => `${line}: ${text}`);

describe('the phrases of a text', () => {
  test.each([
    ['"FOO" is no HTTP method', 'is no'],
    ['The body must be an object: there is none.', 'there is none'],
    ['Who may not read it gets 403.', 'Who may not'],
    ['The caller is told why.', 'is told'],
    ['Requests are turned away.', 'turned away'],
    ['"x" is nothing that the group shows', 'is nothing that'],
    ['signed by whoever has the key', 'whoever'],
    ['unknown method; such as GET', '; such as'],
  ])('are found in %j', (text, phrase) => {
    expect(shown(phrasesIn(text))).toEqual([`1: ${phrase}`]);
  });

  test.each(['It is no longer there.', 'is not a method', 'untold', 'formats such as CSV', 'this none'])(
    'are not in %j',
    (text) => {
      expect(phrasesIn(text)).toEqual([]);
    },
  );

  test('are found across a line break, and reported with the line of their beginning', () => {
    expect(shown(phrasesIn('# Title\n\nA row that is\nno person.\nIt is told.'))).toEqual(['3: is no', '5: is told']);
  });
});

describe('the phrases of a source file', () => {
  test('are those of its literals, not of its comments and names', () => {
    const source = [
      '// there is none, whoever asks',
      "const turnedAway = 'turned away';",
      'const template = `"$' + '{name}" is no model`;',
      'const plain = `who may not`;',
    ].join('\n');
    expect(shown(phrasesInLiterals(source))).toEqual(['2: turned away', '3: is no', '4: who may not']);
  });
});
