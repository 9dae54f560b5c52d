import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { notPlain, RowWrites } from '../../src/store/row-writes.ts';
import { memoryMapper, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const Item = defineEntity({ name: 'Item', properties: { id: p.integer().primary(), name: p.string() } });
const mapper = await memoryMapper(Item);
afterAll(() => mapper.close());
const meta = metaNamed(mapper, 'Item');

/** The steps of a write, in order, and what each returns. */
let steps: unknown[][] = [];
let results: Record<string, unknown> = {};
const step =
  (name: string): Any =>
  async (...given: unknown[]) => {
    steps.push([name, ...given]);
    const result = results[name];
    if (result instanceof Error) throw result;
    return result;
  };
const names = () => steps.map(([name]) => name);
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

const reading: Any = 'reading';
const check: Any = 'check';
const rows: Any = {
  find: step('find'),
  readingWithin: step('readingWithin'),
  foundRow: (...given: unknown[]) => ({ found: given }),
};
const associations: Any = {
  refusal: (resolution: object, targets: unknown, name: string) => {
    expect([resolution, targets]).toEqual([{ missing: true }, ['target']]);
    return new Error(`no ${name}`);
  },
};
const code = { referred: step('referred'), created: step('created'), changed: step('changed') };
const lists = { change: step('lists') };
const plain: Any = {
  read: (...given: unknown[]) => {
    steps.push(['read', ...given]);
    return results.read;
  },
};

function writesWith(options: object = {}): RowWrites {
  const executor = { rows: step('rows') };
  const made = new RowWrites({ mapper, meta, rows, writer: {}, executor, associations, code: null, ...options } as Any);
  Object.assign(made.changes, {
    insert: step('insert'),
    update: step('update'),
    remove: step('remove'),
    isStill: step('isStill'),
  });
  return made;
}
const plainly = writesWith();
const coded = writesWith({ code });

const body = { name: 'new' };
const request: Any = { body };
const name: Any = { column: 'name', value: 'new' };
/** A reference, with the rows that the caller sees as a condition, and whether they may refer to this row. */
const reference = (column: string, seen: unknown = 'all', may = true): Any => ({
  column,
  value: 5,
  refersTo: {
    id: 5,
    table: `table of ${column}`,
    key: 'key',
    field: { targets: ['target'], name: column },
    references: { rows: async () => seen, may: async () => may },
  },
});
const found: Any = { key: 1, entity: { id: 1 }, version: ['v'] };
const admission: Any = { action: '_entity', key: 1, restriction: 'restriction', found };
const unread: Any = { ...admission, found: null };
const written = { found: [request, ['row'], reading] };
const none = new Map();

beforeEach(() => {
  steps = [];
  results = {
    read: [name],
    readingWithin: reading,
    insert: ['row'],
    update: ['row'],
    remove: true,
    rows: [[1]],
    find: found,
    isStill: true,
  };
});

describe('a row is created', () => {
  test('by one statement from the columns of its body', async () => {
    expect(await plainly.create(request, plain, check)).toEqual(written);
    expect(steps).toEqual([
      ['read', body, 'create', { withDefaults: true }],
      ['readingWithin', request, [plainly.changes.table]],
      ['insert', [name], reading, none],
    ]);
    results.read = null;
    for (const writes of [plainly, coded]) expect(await writes.create(request, plain, check)).toBe(notPlain);
    expect(steps.at(-1)).toEqual(['read', body, 'create', { withDefaults: false }]);
  });

  test('after code of the model has run on the rows that it refers to', async () => {
    const [one, other] = [reference('a', ['seen']), reference('b')];
    const referred = new Map([
      ['a', {}],
      ['b', {}],
    ]);
    Object.assign(results, { read: [name, one, other], referred, created: ['all'] });
    expect(await coded.create(request, plain, check)).toEqual(written);
    expect(steps.slice(1)).toEqual([
      ['referred', request, [name, one, other], new Map([['a', ['seen']]])],
      ['created', request, [name, one, other], referred, check],
      ['readingWithin', request, [coded.changes.table]],
      ['insert', ['all'], reading, none],
    ]);
    results.referred = null;
    expect(await coded.create(request, plain, check)).toBe(notPlain);
    results.referred = new Map([['a', {}]]);
    steps = [];
    expect((await thrown(coded.create(request, plain, check))).message).toBe('no b');
    expect(names()).toEqual(['read', 'referred']);
  });

  test('unless the caller may not refer to a row', async () => {
    const seen = ['condition'];
    results.read = [reference('a', seen), name, reference('b'), reference('c')];
    await plainly.create(request, plain, check);
    expect(steps.at(-1)).toEqual(['insert', results.read, reading, new Map([['a', seen]])]);
    results.read = [reference('a', seen), reference('b', null), reference('c', 'all', false)];
    for (const writes of [plainly, coded]) {
      steps = [];
      expect((await thrown(writes.create(request, plain, check))).message).toBe('no c');
      expect(names()).toEqual(['read']);
    }
    // no condition tells, but each reference was checked
    results.read = [name, reference('b', null)];
    await plainly.create(request, plain, check);
    expect(steps.at(-1)).toEqual(['insert', results.read, reading, none]);
  });

  test('unless a row that it refers to is gone, or something has changed', async () => {
    results.insert = undefined;
    expect(await thrown(plainly.create(request, plain, check))).toBeInstanceOf(RowChanged);
    expect(names()).not.toContain('rows');
    results.read = [name, reference('a', ['seen']), reference('b', ['seen'])];
    steps = [];
    expect(await thrown(plainly.create(request, plain, check))).toBeInstanceOf(RowChanged);
    const asked = steps.filter(([name]) => name === 'rows').map(([, { text }, values]: Any) => [text, values]);
    expect(asked).toEqual(['a', 'b'].map((column) => [`select 1 from table of ${column} where key = ?1`, [5n]]));
    results.rows = [];
    expect((await thrown(plainly.create(request, plain, check))).message).toBe('no a');
    results.read = [reference('a', ['seen'], false)];
    results.rows = [[1]];
    expect((await thrown(plainly.create(request, plain, check))).message).toBe('no a');
  });

  test('and an error of its statement is thrown', async () => {
    results.insert = new Error('no connection');
    expect(await thrown(plainly.create(request, plain, check))).toBe(results.insert);
  });
});

describe('a row is changed', () => {
  const change = (writes: RowWrites, of = admission) => writes.change(request, of, plain, { check, mode: 'patch' });

  test('by one statement that requires the version that was checked, or the restriction', async () => {
    for (const of of [admission, unread]) {
      steps = [];
      expect(await change(plainly, of)).toEqual(written);
      const condition = { restriction: 'restriction', version: of.found ? ['v'] : null, em: expect.any(Function) };
      expect(steps).toEqual([
        ['read', body, 'patch'],
        ['readingWithin', request, [plainly.changes.table]],
        ['update', 1, [name], condition, reading, none],
      ]);
      expect((steps[2] as Any)[3].em()).toBe(stateOf(request, mapper).em);
    }
  });

  test('after code of the model has run, if the row was read', async () => {
    Object.assign(results, { referred: none, changed: ['all'] });
    expect(await change(coded)).toEqual(written);
    expect(steps.slice(1, 3)).toEqual([
      ['referred', request, [name], none],
      ['changed', request, found.entity, [name], none, check],
    ]);
    expect((steps.at(-1) as Any)[2]).toEqual(['all']);
    await change(coded, unread);
    expect((steps.at(-1) as Any)[2]).toEqual([name]);
    results.referred = null;
    expect(await change(coded)).toBe(notPlain);
  });

  test('by other statements or MikroORM if its body has lists or more', async () => {
    results.read = null;
    expect(await change(plainly)).toBe(notPlain);
    const listing = writesWith({ lists });
    for (const [result, expected] of [
      ['listed', 'listed'],
      [null, notPlain],
    ] as const) {
      steps = [];
      results.lists = result;
      expect(await change(listing)).toBe(expected);
      const condition = { restriction: 'restriction', version: ['v'], em: expect.any(Function) };
      const { changes } = listing;
      const options = { changes, mode: 'patch', rows, seenReferences: expect.any(Function) };
      expect(steps[1]).toEqual(['lists', request, admission, plain, condition, options]);
    }
  });

  test('unless the caller may not refer to a row; a row that is gone comes first', async () => {
    results.read = [reference('a', null, false)];
    expect((await thrown(change(plainly))).message).toBe('no a');
    expect((await thrown(change(plainly, unread))).message).toBe('no a');
    results.find = null;
    expect(await change(plainly, unread)).toBeNull();
    expect(names()).not.toContain('update');
  });

  test('unless it is gone or has changed, or a row that it refers to is gone', async () => {
    results.update = undefined;
    for (const of of [admission, unread]) expect(await thrown(change(plainly, of))).toBeInstanceOf(RowChanged);
    expect(steps.filter(([name]) => name === 'find')).toEqual([['find', request, 1, 'restriction']]);
    results.read = [reference('a', ['seen'])];
    results.rows = [];
    expect((await thrown(change(plainly))).message).toBe('no a');
    results.isStill = false;
    expect(await thrown(change(plainly))).toBeInstanceOf(RowChanged);
    expect(steps.at(-1)).toEqual(['isStill', 1, ['v'], plainly.options.executor]);
    results.find = null;
    expect(await change(plainly, unread)).toBeNull();
  });

  test('and an error of its statement is thrown', async () => {
    results.update = new Error('no connection');
    expect(await thrown(change(plainly))).toBe(results.update);
  });
});

test('a row is removed, unless it is gone or has changed', async () => {
  expect(await plainly.remove(request, admission)).toBe(true);
  expect(steps).toEqual([['remove', 1, { restriction: 'restriction', version: ['v'], em: expect.any(Function) }]]);
  results.remove = false;
  for (const of of [admission, unread]) expect(await thrown(plainly.remove(request, of))).toBeInstanceOf(RowChanged);
  results.find = null;
  expect(await plainly.remove(request, unread)).toBe(false);
});
