import { describe, expect, test } from 'vitest';
import { didYouMean, listed, nearest } from '../../src/declaration/suggest.ts';

describe('the nearest match', () => {
  test.each([
    ['base_pth', 'base_path'],
    ['base-path', 'base_path'],
    ['get', 'GET'],
    ['clsas', 'class'],
    ['_entiy', '_entity'],
    ['Persn', 'Person'],
  ])('of %j is %j', (given, expected) => {
    expect(nearest(given, ['class', 'base_path', 'GET', '_index', '_entity', 'Person'])).toBe(expected);
  });

  test.each(['zebra', 'x', '', 'id'])('of %j is null if no name is similar', (given) => {
    expect(nearest(given, ['class', 'base_path', 'actions', 'a'])).toBeNull();
  });

  test('is the first of equally near names', () => {
    expect(nearest('cat', ['car', 'cap'])).toBe('car');
  });

  test('is the nearer of two names', () => {
    expect(nearest('items_per_pag', ['items_per_day', 'items_per_page'])).toBe('items_per_page');
  });

  test('becomes a question, or an empty string', () => {
    expect(didYouMean('clas', ['class'])).toBe(' did you mean "class"?');
    expect(didYouMean('zebra', ['class'])).toBe('');
  });
});

test('an empty list is printed as none', () => {
  expect(listed([])).toBe('none');
  expect(listed(['a', 'b'])).toBe('a, b');
});
