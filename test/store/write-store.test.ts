import { beforeEach, describe, expect, test } from 'vitest';
import { stateOf } from '../../src/store/request-state.ts';
import { notPlain } from '../../src/store/row-writes.ts';
import { WriteStore } from '../../src/store/write-store.ts';

type Any = any;

const mapper: Any = { driver: { convertException: (error: unknown) => error } };
const [meta, plain, restriction, make, apply, check] = ['meta', 'plain', 'restriction', 'make', 'apply', 'check'] as Any[];
const edit = { apply, check, mode: 'patch' } as const;
const stored = { stored: true };

/** The calls of both stores, and what each returns. */
let calls: unknown[][] = [];
let results: Record<string, unknown> = {};
const part = (store: string, ...names: string[]): Any =>
  Object.fromEntries(
    names.map((name) => [
      name,
      async (...given: unknown[]) => {
        calls.push([`${store}.${name}`, ...given]);
        const result = results[`${store}.${name}`];
        if (result instanceof Error) throw result;
        return result;
      },
    ]),
  );

const entities = part('entities', 'find', 'create', 'change', 'remove');
const rows = { writes: part('writes', 'create', 'change', 'remove'), plain, checked: part('checked', 'find'), hasRules: false };
const byRows = new WriteStore(mapper, meta, entities, rows as Any);
const byEntities = new WriteStore(mapper, meta, entities, null);

/** A request, possibly inside a transaction around it. */
function requestIn(isInTransaction: boolean): Any {
  const request: Any = {};
  const em = { isInTransaction: () => isInTransaction };
  expect(stateOf(request, { ...mapper, em: { fork: () => em } }).em).toBe(em);
  return request;
}

const request = requestIn(false);
const admission: Any = { action: '_entity', key: 1, restriction, found: { entity: {} } };
const unread = { ...admission, found: null };

beforeEach(() => {
  calls = [];
  results = {};
});

test('rows are written by statements unless the model has rules', () => {
  const ruled = new WriteStore(mapper, meta, entities, { ...rows, hasRules: true } as Any);
  expect([byRows, ruled, byEntities].map((store) => store.isByStatements('PATCH'))).toEqual([true, false, false]);
});

describe.each([
  ['a model that only MikroORM writes', byEntities, request],
  ['a transaction around the request', byRows, requestIn(true)],
])('with %s', (_, store, request) => {
  test('MikroORM reads and writes', async () => {
    results = {
      'entities.find': 'found',
      'entities.create': stored,
      'entities.change': { entity: stored },
      'entities.remove': stored,
    };
    expect(await store.find(request, 1, restriction)).toBe('found');
    expect(await store.create(request, { make, check })).toBe(stored);
    expect(await store.change(request, admission, edit)).toBe(stored);
    expect(await store.remove(request, admission)).toBe(stored);
    expect(calls).toEqual([
      ['entities.find', request, 1, restriction, true],
      ['entities.create', request, make],
      ['entities.change', request, admission, apply],
      ['entities.remove', request, admission],
    ]);
  });
});

test('statements read and write the rows of other models', async () => {
  results = { 'checked.find': 'found', 'writes.create': stored, 'writes.change': stored, 'writes.remove': true };
  expect(await byRows.find(request, 1, restriction)).toBe('found');
  expect(await byRows.create(request, { make, check })).toBe(stored);
  expect(await byRows.change(request, admission, edit)).toBe(stored);
  expect(await byRows.remove(request, admission)).toEqual({});
  expect(calls).toEqual([
    ['checked.find', request, 1, restriction],
    ['writes.create', request, plain, check],
    ['writes.change', request, admission, plain, edit],
    ['writes.remove', request, admission],
  ]);
});

test('a row that is gone is null', async () => {
  results = { 'writes.change': null, 'writes.remove': false, 'entities.change': null, 'entities.remove': null };
  for (const store of [byRows, byEntities]) {
    expect(await store.change(request, admission, edit)).toBeNull();
    expect(await store.remove(request, admission)).toBeNull();
  }
});

test('a body that has more than columns is written by MikroORM, which reads the row first', async () => {
  results = {
    'writes.create': notPlain,
    'writes.change': notPlain,
    'entities.create': stored,
    'entities.change': { entity: stored },
  };
  expect(await byRows.create(request, { make, check })).toBe(stored);
  expect(await byRows.change(request, admission, edit)).toBe(stored);
  expect(calls.slice(1)).toEqual([
    ['entities.create', request, make],
    ['writes.change', request, admission, plain, edit],
    ['entities.change', request, admission, apply],
  ]);
  for (const found of [{ entity: stored }, null]) {
    calls = [];
    results['entities.find'] = found;
    expect(await byRows.change(request, unread, edit)).toBe(stored);
    expect(calls.slice(1)).toEqual([
      ['entities.find', request, 1, restriction, true],
      ['entities.change', request, { ...unread, found }, apply],
    ]);
  }
});

test('an error of a removal is thrown', async () => {
  const error = new Error('no connection');
  results = { 'writes.remove': error };
  await expect(byRows.remove(requestIn(false), admission)).rejects.toBe(error);
});
