import { describe, expect, test } from 'vitest';
import { TokenCache } from '../../src/access/token-cache.ts';

const user = { id: 'ann', roles: [] };

describe('the cache of verified tokens', () => {
  test('returns only tokens that were stored', () => {
    const memory = new TokenCache(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.recall('a', 100)).toBe(user);
    expect(memory.recall('b', 100)).toBeNull();
  });

  test('evicts a token in the second it expires', () => {
    const memory = new TokenCache(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.recall('a', 199)).toBe(user);
    expect(memory.recall('a', 200)).toBeNull();
    expect(memory.size).toBe(0);
  });

  test('evicts a token after ten minutes, however long it is valid', () => {
    const memory = new TokenCache(2);
    memory.remember('a', { user, notBefore: 0, expires: 100_000 }, 100);
    expect(memory.recall('a', 699)).toBe(user);
    expect(memory.recall('a', 700)).toBeNull();
  });

  test('does not return a token that is not valid yet, for example if the clock was set back', () => {
    const memory = new TokenCache(2);
    memory.remember('a', { user, notBefore: 100, expires: 200 }, 100);
    expect(memory.recall('a', 99)).toBeNull();
    expect(memory.recall('a', 100)).toBe(user);
  });

  test('stays within its limit and evicts the least recently used token', () => {
    const memory = new TokenCache(2);
    for (const token of ['a', 'b']) memory.remember(token, { user, notBefore: 0, expires: 200 }, 100);
    memory.recall('a', 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.size).toBe(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    memory.remember('d', { user, notBefore: 0, expires: 200 }, 100);
    expect([memory.recall('c', 100), memory.recall('a', 100), memory.recall('d', 100)]).toEqual([null, user, user]);
  });

  test('counts a lookup as use when it evicts the least recently used token', () => {
    const memory = new TokenCache(2);
    for (const token of ['a', 'b']) memory.remember(token, { user, notBefore: 0, expires: 200 }, 100);
    memory.recall('a', 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    expect([memory.recall('a', 100), memory.recall('b', 100), memory.recall('c', 100)]).toEqual([user, null, user]);
  });
});
