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

  test.each(['zebra', 'x', '', 'id'])('of %j does not exist among strangers', (given) => {
    expect(nearest(given, ['class', 'base_path', 'actions', 'a'])).toBeNull();
  });

  test('is the first of equally near ones', () => {
    expect(nearest('cat', ['car', 'cap'])).toBe('car');
  });

  test('is the nearer of two near ones', () => {
    expect(nearest('items_per_pag', ['items_per_day', 'items_per_page'])).toBe('items_per_page');
  });

  test('becomes a question, or nothing', () => {
    expect(didYouMean('clas', ['class'])).toBe(' did you mean "class"?');
    expect(didYouMean('zebra', ['class'])).toBe('');
  });
});

test('a list of nothing says none', () => {
  expect(listed([])).toBe('none');
  expect(listed(['a', 'b'])).toBe('a, b');
});
