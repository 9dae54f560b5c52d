import { describe, expect, test } from 'vitest';
import { StatementCosts } from '../../src/database/statement-costs.ts';

const plain = { name: 'plain', text: 'select 1', wide: false };
const page = { name: 'page', text: 'select id from t order by id limit ?1 offset ?2', wide: false };

describe('the cost of a statement', () => {
  test('is unknown before it is first sent', () => {
    expect(new StatementCosts().of(plain, [])).toBeUndefined();
  });

  test('rises immediately to a longer duration', () => {
    const costs = new StatementCosts();
    costs.note(plain, [], 1);
    costs.note(plain, [], 50);
    expect(costs.of(plain, [])).toBe(50);
  });

  test('decays while durations are shorter, however long it once took', () => {
    const costs = new StatementCosts();
    costs.note(plain, [], 1_000_000);
    costs.note(plain, [], 0.1);
    expect(costs.of(plain, [])).toBeGreaterThan(500);
    for (let i = 0; i < 60; i++) costs.note(plain, [], 0.1);
    expect(costs.of(plain, [])).toBeLessThan(10);
  });

  test('is separate for pages far from the start', () => {
    const costs = new StatementCosts();
    costs.note(page, [20, 0], 1);
    costs.note(page, [20, 1_900_000n], 80);
    expect([0, 9_999, 10_000, 999_999, 1_000_000, 9_000_000n].map((offset) => costs.of(page, [20, offset]))).toEqual([
      1,
      1,
      undefined,
      undefined,
      80,
      80,
    ]);
  });

  test('is stored for a bounded number of statements', () => {
    const costs = new StatementCosts();
    for (let i = 0; i < 2001; i++) costs.note({ ...plain, name: `n${i}` }, [], 1);
    expect(costs.of({ ...plain, name: 'n0' }, [])).toBeUndefined();
    expect(costs.of({ ...plain, name: 'n2000' }, [])).toBe(1);
  });
});
