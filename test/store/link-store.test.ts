import { beforeEach, describe, expect, test } from 'vitest';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { LinkStore } from '../../src/store/link-store.ts';
import { MethodLinks } from '../../src/store/method-links/method-links.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { RowLinks } from '../../src/store/row-links.ts';

type Any = any;

const target: Any = { getPrimaryProps: () => [{ name: 'id', fieldNames: ['id'], columnTypes: ['integer'] }] };
const reading: Any = 'reading';
const condition: Any = 'condition';
const restriction: Any = 'restriction';
const refusal = new Error('the item does not exist');
const item = { id: 5 };

/** The calls of the parts, and what each returns. */
let calls: unknown[][] = [];
let results: Record<string, unknown> = {};
const returned = (name: string, given: unknown[]) => {
  calls.push([name, ...given]);
  return results[name];
};
const part = (store: string, ...names: string[]): Any =>
  Object.fromEntries(names.map((name) => [name, (...given: unknown[]) => returned(`${store}.${name}`, given)]));

const linksOf = (type: Any) =>
  Object.create(type.prototype, { table: { value: 'links' }, change: { value: part('links', 'change').change } });
const entities = {
  ...part('entities', 'find'),
  change: async (request: unknown, admission: unknown, edit: (entity: unknown) => Promise<unknown>) => {
    calls.push(['entities.change', request, admission]);
    return { entity: 'owner', result: await edit('owner') };
  },
};
const associations: Any = {
  itemRefusal: (...given: unknown[]) => {
    expect(given).toEqual([{ missing: true }, [target]]);
    return refusal;
  },
};
const mapper: Any = {};
const storeWith = (links: Any) =>
  new LinkStore(mapper, entities as Any, associations, {
    target,
    links,
    parseId: (id: unknown) => (id === 'x' ? undefined : id),
    references: part('references', 'rows', 'may'),
    items: part('items', 'find', 'readingWithin', 'foundRow'),
    writes: part('writes', 'isThere', 'condition'),
    checked: part('checked', 'find'),
  } as Any);
const byRows = storeWith(linksOf(RowLinks));
const byMethods = storeWith(linksOf(MethodLinks));
const byEntities = new LinkStore(mapper, entities as Any, associations, null);

function requestIn(isInTransaction: boolean, body: unknown = item): Any {
  const request: Any = { body };
  const em = { isInTransaction: () => isInTransaction };
  expect(stateOf(request, { em: { fork: () => em } } as Any).em).toBe(em);
  return request;
}

const request = requestIn(false);
const admission: Any = { action: 'tags', key: 1, restriction, found: { entity: 'owner' } };
const edit: Any = {
  resolve: async (entity: unknown) => `item of ${entity}`,
  apply: async (...given: unknown[]) => ({ returned: given.join(), changed: true }),
};
const names = () => calls.map(([name]) => name);

beforeEach(() => {
  calls = [];
  results = {
    'checked.find': 'row',
    'entities.find': 'entity',
    'references.rows': 'all',
    'references.may': true,
    'items.readingWithin': reading,
    'items.foundRow': 'shown',
    'items.find': 'found item',
    'writes.isThere': true,
    'writes.condition': condition,
    'links.change': ['values'],
  };
});

test('only plain links need no row before the statement', () => {
  expect([byRows, byMethods, byEntities].map((store) => store.isByStatements())).toEqual([true, false, false]);
});

test('the owner is read by a statement, or by MikroORM inside a transaction', async () => {
  expect(await byRows.find(request, 1, restriction)).toBe('row');
  expect(await byRows.find(requestIn(true), 1, restriction)).toBe('entity');
  expect(await byEntities.find(request, 1, restriction)).toBe('entity');
  expect(calls.map((call) => call.filter((each) => each !== request))).toMatchObject([
    ['checked.find', 1, restriction],
    ['entities.find', {}, 1, restriction, true],
    ['entities.find', 1, restriction, true],
  ]);
});

describe('MikroORM changes the association', () => {
  test.each<[string, LinkStore, Any]>([
    ['of other models', byEntities, request],
    ['inside a transaction', byRows, requestIn(true)],
    ['if the body is more than a reference', byRows, requestIn(false, { id: 5, more: 1, most: 2 })],
    ['if the body has a key that no row can have', byRows, requestIn(false, { id: 'x' })],
    ['if the key is null', byRows, requestIn(false, { id: null })],
  ])('%s', async (_, store, one) => {
    const linked = { entity: 'owner', result: 'owner,item of owner' };
    expect(await store.change(one, admission, 'add', edit)).toEqual(linked);
    expect(calls).toEqual([['entities.change', one, admission]]);
    calls = [];
    const unread = { ...admission, found: null };
    expect(await store.change(one, unread, 'add', edit)).toEqual(linked);
    expect(calls).toEqual([
      ['entities.find', one, 1, restriction, true],
      ['entities.change', one, { ...unread, found: 'entity' }],
    ]);
    results['entities.find'] = null;
    expect(await store.change(one, unread, 'add', edit)).toBeNull();
  });
});

describe('a statement changes the association', () => {
  test.each(['all', ['seen']])('and the response shows the item, if the caller sees the items %j', async (seen) => {
    results['references.rows'] = seen;
    for (const what of ['add', 'remove'] as const) {
      calls = [];
      expect(await byRows.change(request, admission, what, edit)).toEqual({ entity: null, result: 'shown' });
      expect(calls).toEqual([
        ['references.rows', request],
        ['items.readingWithin', request, ['links']],
        ['writes.condition', request, admission],
        ['links.change', what, 1, 5, condition, reading, seen],
        ['items.foundRow', request, ['values'], reading],
      ]);
    }
  });

  test('without a row, the owner is gone, the item does not exist for the caller, or either has changed', async () => {
    results['links.change'] = undefined;
    results['writes.isThere'] = false;
    expect(await byRows.change(request, admission, 'add', edit)).toBeNull();
    results['writes.isThere'] = true;
    await expect(byRows.change(request, admission, 'add', edit)).rejects.toBeInstanceOf(RowChanged);
    expect(calls.slice(-2)).toEqual([
      ['references.may', request, 5],
      ['items.find', request, 5, null],
    ]);
    results['items.find'] = null;
    await expect(byRows.change(request, admission, 'add', edit)).rejects.toBe(refusal);
    Object.assign(results, { 'items.find': 'found item', 'references.may': false });
    await expect(byRows.change(request, admission, 'add', edit)).rejects.toBe(refusal);
  });

  test('only if the caller sees the item, when no condition can say that', async () => {
    results['references.rows'] = null;
    for (const store of [byRows, byMethods]) {
      results['references.may'] = false;
      results['writes.isThere'] = true;
      await expect(store.change(request, admission, 'add', edit)).rejects.toBe(refusal);
      results['writes.isThere'] = false;
      expect(await store.change(request, admission, 'add', edit)).toBeNull();
      expect(names()).not.toContain('links.change');
    }
    results['references.may'] = true;
    await byRows.change(request, admission, 'add', edit);
    expect(calls.at(-2)).toEqual(['links.change', 'add', 1, 5, condition, reading, 'all']);
  });

  test.each(['all', null, ['seen']])('after methods of the model have run, if the caller sees the items %j', async (seen) => {
    Object.assign(results, { 'references.rows': seen, 'links.change': 'linked' });
    expect(await byMethods.change(request, admission, 'add', edit)).toBe('linked');
    expect(calls.at(-1)).toEqual(['links.change', request, admission, { id: 5, seen: seen ?? 'all' }, edit.apply]);
    results['links.change'] = null;
    await expect(byMethods.change(request, admission, 'add', edit)).rejects.toBe(refusal);
  });
});
