import { describe, expect, test } from 'vitest';
import { phrasesIn, phrasesInCode, phrasesInTitles } from '../../scripts/phrases.ts';

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
    ['What is hidden is gone.', 'What is hidden is'],
    ['A hidden row is 404.', 'is 404'],
    ['Declare a role where there is one.', 'where there is'],
    ['The request is done again.', 'done again'],
    ['Slow requests are waited for.', 'are waited for'],
    ['It is given up after a second.', 'given up'],
    ['Rows for those who may read.', 'those who'],
    ['# Writes that nothing is lost of.', 'nothing is lost of.'],
  ])('are found in %j', (text, phrase) => {
    expect(shown(phrasesIn(text))).toEqual([`1: ${phrase}`]);
  });

  test.each([
    'It is no longer there.',
    'There is no build step.',
    'is not a method',
    'untold',
    'formats such as CSV',
    'this none',
    'The response is 404.',
    'Short reads stay where they are.',
  ])('are not in %j', (text) => {
    expect(phrasesIn(text)).toEqual([]);
  });

  test('are found across a line break, and reported with the line of their beginning', () => {
    expect(shown(phrasesIn('# Title\n\nA row that is\nno person.\nIt is told.'))).toEqual(['3: is no', '5: is told']);
  });
});

describe('the phrases of a source file', () => {
  test('are those of its literals and comments, not of its names', () => {
    const source = [
      '/** The value; null if there is none. */',
      "const turnedAway = 'turned away';",
      'const template = `"$' + '{name}" is no model`;',
      'const plain = `who may not`; // for whoever asks',
      '// The row is waited for.',
      'const view = <b>there is none</b>;',
    ].join('\n');
    expect(shown(phrasesInCode(source, 'source.tsx'))).toEqual([
      '2: turned away',
      '3: is no',
      '4: whoever',
      '4: who may not',
      '5: is waited for',
      '6: there is none',
    ]);
  });
});

describe('the phrases of a test file', () => {
  test('are those of its titles', () => {
    const source = [
      "describe('what is hidden is gone', () => {",
      "  test.each(['turned away'])('is told to %s', () => expect('is told').toBe(1));",
      '});',
    ].join('\n');
    expect(shown(phrasesInTitles(source))).toEqual(['1: what is hidden is', '2: is told']);
  });
});
