import { describe, expect, test } from 'vitest';
import { TokenMemory } from '../../src/access/token-memory.ts';

const user = { id: 'ann', roles: [] };

describe('the memory of verified tokens', () => {
  test('knows only what it was told', () => {
    const memory = new TokenMemory(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.recall('a', 100)).toBe(user);
    expect(memory.recall('b', 100)).toBeNull();
  });

  test('forgets a token in the second it expires', () => {
    const memory = new TokenMemory(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.recall('a', 199)).toBe(user);
    expect(memory.recall('a', 200)).toBeNull();
    expect(memory.size).toBe(0);
  });

  test('forgets a token after ten minutes, however long it is valid', () => {
    const memory = new TokenMemory(2);
    memory.remember('a', { user, notBefore: 0, expires: 100_000 }, 100);
    expect(memory.recall('a', 699)).toBe(user);
    expect(memory.recall('a', 700)).toBeNull();
  });

  test('does not vouch for a token that is not valid yet, as when the clock was set back', () => {
    const memory = new TokenMemory(2);
    memory.remember('a', { user, notBefore: 100, expires: 200 }, 100);
    expect(memory.recall('a', 99)).toBeNull();
    expect(memory.recall('a', 100)).toBe(user);
  });

  test('holds no more than its limit, and drops what was not used longest', () => {
    const memory = new TokenMemory(2);
    for (const token of ['a', 'b']) memory.remember(token, { user, notBefore: 0, expires: 200 }, 100);
    memory.recall('a', 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    expect(memory.size).toBe(2);
    memory.remember('a', { user, notBefore: 0, expires: 200 }, 100);
    memory.remember('d', { user, notBefore: 0, expires: 200 }, 100);
    expect([memory.recall('c', 100), memory.recall('a', 100), memory.recall('d', 100)]).toEqual([null, user, user]);
  });

  test('drops what was not used longest, be it told of again before', () => {
    const memory = new TokenMemory(2);
    for (const token of ['a', 'b']) memory.remember(token, { user, notBefore: 0, expires: 200 }, 100);
    memory.recall('a', 100);
    memory.remember('c', { user, notBefore: 0, expires: 200 }, 100);
    expect([memory.recall('a', 100), memory.recall('b', 100), memory.recall('c', 100)]).toEqual([user, null, user]);
  });
});
