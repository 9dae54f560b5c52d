import { describe, expect, test } from 'vitest';
import { itemKeyReader, keyNamesOf } from '../../src/actions/bulk/item-key.ts';

type Plan = Parameters<typeof itemKeyReader>[0];

/** A plan that parses nothing, so that tests see the value that was read. Rows cannot have the key "none". */
function planOf({ idKey = 'id', parts = [], idField }: { idKey?: string; parts?: string[]; idField?: object }): Plan {
  const fields = new Map(idField ? [['id', { metadata: idField }]] : []);
  const parseId = (given: unknown) => (given === 'none' ? undefined : { given });
  return { fields, idKey, keyParts: parts.map((name) => ({ name })), parseId } as unknown as Plan;
}

const numbered = { idKey: 'number' };
const ownId = { idKey: 'number', idField: { primary: false } };
const pair = { parts: ['a', 'b'] };
const pairWithId = { parts: ['id', 'b'] };
const pairBesideId = { parts: ['a', 'b'], idField: { primary: false } };

describe('the key of an item in a list', () => {
  test.each([
    [{}, { id: 1 }, 1],
    [{}, { id: '1', name: 'x' }, '1'],
    [numbered, { id: 1 }, 1],
    [numbered, { number: 2 }, 2],
    [numbered, { number: 2, id: 1 }, 1],
    [{ idKey: 'number', idField: { primary: true } }, { id: 1 }, 1],
    [ownId, { number: 2, id: 1 }, 2],
    [pair, { id: '1-2' }, '1-2'],
    [pair, { id: [1, 2] }, [1, 2]],
    [pair, { id: { a: 1, b: 2 } }, { a: 1, b: 2 }],
    [pair, { id: '1-2', a: 3, b: 4 }, '1-2'],
    [pair, { b: 2, a: 1, c: 3 }, { a: 1, b: 2 }],
    [pair, { a: 0, b: '' }, { a: 0, b: '' }],
    [pairWithId, { id: 1, b: 2 }, { id: 1, b: 2 }],
    [pairBesideId, { id: '3-4', a: 1, b: 2 }, { a: 1, b: 2 }],
  ])('is read with %j from %j', (plan, item, given) => {
    expect(itemKeyReader(planOf(plan))(item)).toEqual({ key: { given } });
  });

  test.each([
    [{}, {}],
    [{}, { number: 1 }],
    [{}, { undefined: 1 }],
    [{}, { id: null }],
    [{}, { id: true }],
    [{}, { id: [1] }],
    [{}, Object.create({ id: 1 })],
    [ownId, { id: 1 }],
    [pair, {}],
    [pair, { id: 1 }],
    [pair, { id: null, a: 1, b: 2 }],
    [pair, { a: 1 }],
    [pair, { a: null, b: 2 }],
    [pair, Object.create({ a: 1, b: 2 })],
    [pair, Object.create({ id: '1-2' })],
    [pairWithId, { id: '1-2' }],
    [pairBesideId, { id: '1-2' }],
  ])('is missing with %j from %j', (plan, item) => {
    expect(itemKeyReader(planOf(plan))(item)).toBeNull();
  });

  test('may be one that no row can have', () => {
    expect(itemKeyReader(planOf({}))({ id: 'none' })).toEqual({ key: undefined });
    expect(itemKeyReader(planOf(pair))({ id: 'none' })).toEqual({ key: undefined });
  });

  test('is named in messages', () => {
    expect(keyNamesOf(planOf({}))).toBe('"id"');
    expect(keyNamesOf(planOf(pair))).toBe('"id" or "a" and "b"');
  });
});
