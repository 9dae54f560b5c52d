import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BulkActions } from '../../src/actions/bulk/bulk.ts';
import { BulkReply } from '../../src/actions/bulk/bulk-reply.ts';
import { EarlyReply } from '../../src/actions/hooks.ts';
import type { BulkMethod } from '../../src/declaration/types.ts';
import { problem } from '../../src/errors.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { BulkEntities } from '../../src/store/bulk-entities.ts';
import { groupsOf, stateOf } from '../../src/store/request-state.ts';
import { RowInserts } from '../../src/store/row-inserts.ts';
import { FoundRows } from '../../src/store/row-store.ts';
import { notPlain } from '../../src/store/row-writes.ts';
import { memoryMapper, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const Item = defineEntity({ name: 'Item', properties: { id: p.integer().primary(), name: p.string() } });
const mapper = await memoryMapper(Item);
afterAll(() => mapper.close());
const meta = metaNamed(mapper, 'Item');
const entityOf = (id: number): Any => mapper.em.fork().create(Item, { id, name: `item ${id}` });

/** The steps of a request, in order, and what each returns. */
let steps: unknown[][] = [];
let results: Record<string, unknown> = {};
const step =
  (name: string): Any =>
  async (...given: unknown[]) => {
    steps.push([name, ...given]);
    const result = results[name];
    const value = typeof result === 'function' ? await result(...given) : result;
    if (value instanceof Error) throw value;
    return value;
  };
const names = () => steps.map(([name]) => name);
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

const [all, own] = ['all', 'own'].map((name) => ({ read: [name], embedded: [], write: [] })) as [Any, Any];
const plan = {
  fields: new Map(),
  idKey: 'id',
  keyParts: [],
  parseId: (id: unknown) => (id === 'x' ? undefined : Number(id)),
};
const hookNames = ['afterFetch', 'beforeValidation', 'validate', 'afterValidation', 'afterCommit', 'beforeSerialize'];
const guard = { readsSubject: true, loads: ['owner'], check: step('check') };
const grants = { all, loads: ['center'], ofEntity: step('ofEntity') };
const api: Any = {
  framework: {
    mapper,
    declaration: { server: { responseLimit: 1000 } },
    deserializer: (groups: Any) => ({
      planFor: () => plan,
      load: step(`load as ${groups.read}`),
      update: step(`update as ${groups.read}`),
      create: step('create'),
    }),
    paths: { loadAll: step('loadAll') },
    tags: { mark: () => 'mark' },
  },
  meta,
  nested: 'nested',
  restricts: false,
  api: { defaultSort: [], requireIfMatch: false, actions: [] },
  hooks: Object.fromEntries(hookNames.map((name) => [name, step(name)])),
  overrides: new Set(['afterCommit', 'beforeSerialize']),
  grantsOf: (...given: unknown[]) => {
    steps.push(['grantsOf', ...given]);
    return grants;
  },
  itemGuardOf: (...given: unknown[]) => {
    steps.push(['itemGuardOf', ...given]);
    return guard;
  },
};
const unhooked: Any = { ...api, overrides: new Set() };
const writing: Any = { writes: { options: { mapper, meta } } };
const storeWith = (rows: unknown): Any => ({ rowsFor: () => rows });

function run(
  method: BulkMethod,
  body: unknown,
  { format = 'json', headers = {}, of = api, query = {}, rows = null as unknown } = {},
) {
  const request: Any = { method, body, headers, query, params: { x: 'y' } };
  stateOf(request, mapper).groups = all;
  const actions = new BulkActions(of, 3, null);
  return { request, reply: actions.run(method, request, storeWith(rows), format) as Promise<Any> };
}
const failure = async (...given: Parameters<typeof run>) => {
  const { code, members, message } = await thrown(run(...given).reply);
  return [code, members?.index, message];
};
const message = (text: string) => expect.stringContaining(text);

beforeEach(() => {
  steps = [];
  results = { validate: [], ofEntity: own, 'update as own': { violations: [] } };
  vi.spyOn(BulkEntities.prototype, 'create').mockImplementation(step('store create'));
  vi.spyOn(BulkEntities.prototype, 'change').mockImplementation(step('store change'));
  vi.spyOn(BulkEntities.prototype, 'remove').mockImplementation(step('store remove'));
  vi.spyOn(RowInserts.prototype, 'create').mockImplementation(step('insert'));
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('a list is rejected', () => {
  test('if it is not a list of objects, or too long', async () => {
    for (const method of ['POST', 'PATCH', 'DELETE'] as const) {
      expect(await failure(method, undefined)).toEqual(['invalid_list', undefined, message('it is missing')]);
      for (const other of [{}, null, 'text'])
        expect(await failure(method, other)).toEqual(['invalid_list', undefined, message('it is not a list')]);
      expect((await failure(method, [1])).slice(0, 2)).toEqual(['invalid_list', 0]);
      expect(await failure(method, [{}, 1, 2])).toEqual(['invalid_list', 1, message('an item is not an object')]);
      expect(await failure(method, [{}, {}, {}, {}])).toEqual(['too_many_items', undefined, message('3')]);
      expect((await failure(method, [], { query: { a: '1' } }))[0]).toBe('unknown_parameter');
    }
    expect((await thrown(run('POST', [{}, {}, {}, {}]).reply)).message).toContain('the list');
  });

  test('if items do not name rows, each once', async () => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      expect(await failure(method, [{ id: 1 }, {}])).toEqual(['invalid_list', 1, message('an item has no "id"')]);
      expect(await failure(method, [{ id: 1, _if_match: 5 }])).toEqual([
        'invalid_list',
        0,
        message('"_if_match" of an item must be an ETag, as a string'),
      ]);
      expect((await failure(method, [{ id: 1 }, { id: 'x' }])).slice(0, 2)).toEqual(['entity_not_found', 1]);
      expect((await failure(method, [{ id: 1 }, { id: 2 }, { id: '1' }])).slice(0, 2)).toEqual(['duplicate_item', 2]);
      for (const header of ['if-match', 'if-none-match'])
        expect(await failure(method, [{ id: 1 }], { headers: { [header]: '"a"' } })).toEqual([
          'bad_request',
          undefined,
          message('a list has no ETag: send "_if_match" in its items'),
        ]);
    }
    expect((await failure('POST', [{}], { headers: { 'if-match': '"a"' } }))[0]).toBe('precondition_failed');
    expect(names().filter((name) => String(name).startsWith('store'))).toEqual([]);
  });
});

describe('rows are created', () => {
  const bodies = [{ name: 'a' }, { name: 'b' }];

  test('by statements, if these can', async () => {
    const found = Object.create(FoundRows.prototype);
    results.insert = found;
    const { reply, request } = run('POST', bodies, { rows: writing });
    expect(await reply).toMatchObject({ value: found, status: 201 });
    expect(names()).toEqual(['insert']);
    const [, given, items] = steps[0] as Any;
    expect([given, items.map(({ request: item }: Any) => item.body)]).toEqual([request, bodies]);
    steps = [];
    await items[1].check('entity');
    expect(steps[1]).toEqual(['validate', 'entity', { action: '_index', request: items[1].request, groups: [] }]);
  });

  test.each([writing, null])('or as entities, with hooks for each', async (rows) => {
    const made = [entityOf(1), entityOf(2)];
    Object.assign(results, {
      insert: notPlain,
      create: (_: unknown, { name }: Any) => ({ entity: made[name === 'a' ? 0 : 1], violations: [], rows: [] }),
      'store create': (_: unknown, make: () => unknown) => make(),
    });
    const { reply } = run('POST', bodies, { rows });
    expect(await reply).toMatchObject({ value: { count: 2, results: made }, status: 201 });
    const ofItems = steps.filter(([name]) => ['afterCommit', 'beforeSerialize'].includes(name as string));
    expect(ofItems.map(([name, action, item, value]: Any) => [name, action, item.body, value])).toEqual([
      ...made.map((entity, i) => ['afterCommit', '_index', bodies[i], entity]),
      ...made.map((entity, i) => ['beforeSerialize', '_index', bodies[i], new JsonReply(entity, { status: 201 })]),
    ]);
    steps = [];
    await run('POST', bodies, { rows, of: unhooked }).reply;
    expect(names()).not.toContain('afterCommit');
    expect(names()).not.toContain('beforeSerialize');
    results.validate = [{ propertyPath: 'name', title: 'is wrong' }];
    const error = await thrown(run('POST', bodies, { rows }).reply);
    expect(error.members.violations.map(({ propertyPath }: Any) => propertyPath)).toEqual(['[0].name', '[1].name']);
  });

  test('unless there are none', async () => {
    expect(await run('POST', [], { rows: writing }).reply).toMatchObject({ value: { count: 0, results: [] }, status: 201 });
    expect(await run('POST', [], { format: 'ndjson' }).reply).toMatchObject({ value: [], status: 201 });
    expect(steps).toEqual([]);
  });
});

/** Runs the edit of a change or a removal with rows that were found. */
const editing =
  (...ids: number[]) =>
  async (...given: Any[]) => {
    const found = new Map(ids.map((id) => [String(id), { key: id, entity: entityOf(id), version: null, versionText: '3' }]));
    return given.at(-1)(found);
  };

describe('rows are changed', () => {
  test('after access to each was checked, with the groups and the precondition of each', async () => {
    results['store change'] = editing(1, 2);
    const items = [
      { id: 2, name: 'b' },
      { id: '1', name: 'a', _if_match: '*' },
    ];
    const fetching = { ...api, overrides: new Set([...api.overrides, 'afterFetch']) };
    const { reply, request } = run('PATCH', items, { of: fetching });
    const answer = await reply;
    expect(answer).toBeInstanceOf(BulkReply);
    expect([answer.status, answer.value.count, answer.value.results.map(({ id }: Any) => id)]).toEqual([200, 2, [2, 1]]);
    expect([...answer.groupsOf.values()]).toEqual([own, own]);
    expect([...answer.groupsOf.keys()]).toEqual(answer.value.results);
    const [, given, keys, restriction, groupsAt] = steps.find(([name]) => name === 'store change') as Any;
    expect([given, keys, restriction]).toEqual([request, [2, 1], null]);
    expect([groupsAt(null), groupsAt(0)]).toEqual([all, own]);
    const loading = steps.find(([name]) => name === 'loadAll') as Any;
    expect([loading[1].map(({ id }: Any) => id), loading[2]]).toEqual([
      [1, 2],
      ['owner', 'center'],
    ]);
    expect(steps).toContainEqual(['itemGuardOf', 'PATCH']);
    expect(steps.filter(([name]) => name === 'grantsOf').map(([, ...each]) => each)).toEqual([
      ['_index', 'PATCH'],
      ['_index', 'PATCH'],
    ]);
    for (const name of ['afterFetch', 'beforeValidation'])
      expect(steps.filter((each) => each[0] === name).map(([, action, item]: Any) => [action, item.params.id])).toEqual([
        ['_entity', '2'],
        ['_entity', '1'],
      ]);
    const checks = steps.filter(([name]) => name === 'check') as Any[];
    expect(checks.map(([, subject, , item]) => [subject.id, item.params, item.headers])).toEqual([
      [2, { x: 'y', id: '2' }, {}],
      [1, { x: 'y', id: '1' }, { 'if-match': '*' }],
    ]);
    // the rows to which all items refer are read together, once access to each row was checked
    expect(names().filter((name) => /^(check|load as|update as)/.test(String(name)))).toEqual([
      'check',
      'check',
      'load as own',
      'update as own',
      'update as own',
    ]);
    const updates = steps.filter(([name]) => name === 'update as own') as Any[];
    expect(updates.map(([, entity, body, mode, scope]) => [entity.id, body, mode, scope.em])).toEqual([
      [2, { id: 2, name: 'b' }, 'patch', stateOf(request, mapper).em],
      [1, { id: '1', name: 'a' }, 'patch', stateOf(request, mapper).em],
    ]);
    expect(updates.map((update) => groupsOf(update[4].request, mapper))).toEqual([own, own]);
    const hooks = steps.filter(([name]) => ['afterCommit', 'beforeSerialize'].includes(name as string)) as Any[];
    expect(hooks.map(([name, action, item, value]) => [name, action, item.params.id, value.id])).toEqual([
      ['afterCommit', '_entity', '2', 2],
      ['afterCommit', '_entity', '1', 1],
      ['beforeSerialize', '_entity', '2', 2],
      ['beforeSerialize', '_entity', '1', 1],
    ]);
  });

  test('or none, if one of them is gone, denied, or no longer has its ETag', async () => {
    const versioned = { ...api, meta: { ...meta, versionProperty: 'name', properties: meta.properties } };
    const strict = { ...versioned, api: { ...api.api, requireIfMatch: true } };
    results['store change'] = editing(1);
    expect((await failure('PATCH', [{ id: 1 }, { id: 2 }])).slice(0, 2)).toEqual(['entity_not_found', 1]);
    results['store change'] = editing(1, 2);
    expect((await failure('PATCH', [{ id: 1 }, { id: 2, _if_match: '"a"' }])).slice(0, 2)).toEqual(['precondition_failed', 1]);
    expect((await failure('PATCH', [{ id: 1 }], { of: strict })).slice(0, 2)).toEqual(['precondition_required', 0]);
    results.check = (subject: Any) => (subject.id === 2 ? problem('access_denied') : undefined);
    expect((await failure('PATCH', [{ id: 1 }, { id: 2 }])).slice(0, 2)).toEqual(['access_denied', 1]);
    expect(names()).not.toContain('update as own');
    results.check = undefined;
    results['update as own'] = { violations: [{ propertyPath: 'name', title: 'is wrong' }] };
    const error = await thrown(run('PATCH', [{ id: 1 }, { id: 2 }]).reply);
    expect(error.members.violations.map(({ propertyPath }: Any) => propertyPath)).toEqual(['[0].name', '[1].name']);
    expect(names()).not.toContain('afterCommit');
  });

  test('and hooks can end the request', async () => {
    results['store change'] = editing(1);
    for (const name of ['afterCommit', 'beforeSerialize']) {
      results[name] = new JsonReply(1);
      expect(await thrown(run('PATCH', [{ id: 1 }]).reply)).toBeInstanceOf(EarlyReply);
      results[name] = undefined;
    }
  });

  test('unless there are none', async () => {
    results['store change'] = editing();
    expect(await run('PATCH', []).reply).toMatchObject({ value: { count: 0, results: [] }, status: 200 });
    expect(names()).not.toContain('itemGuardOf');
  });
});

describe('rows are removed', () => {
  test('after access to each was checked', async () => {
    results['store remove'] = editing(1, 2);
    const { reply, request } = run('DELETE', [{ id: 2 }, { id: 1 }]);
    const answer = await reply;
    expect([answer instanceof BulkReply, answer.value, answer.status]).toEqual([true, undefined, 204]);
    expect(steps.find(([name]) => name === 'store remove')?.slice(1, 4)).toEqual([request, [2, 1], null]);
    expect(steps.filter(([name]) => name === 'check').map(([, subject]: Any) => subject.id)).toEqual([2, 1]);
    expect(
      steps
        .filter(([name]) => name === 'afterCommit')
        .map(([, action, item, entity]: Any) => [action, item.params.id, entity.id]),
    ).toEqual([
      ['_entity', '2', 2],
      ['_entity', '1', 1],
    ]);
    expect(names()).not.toContain('beforeSerialize');
  });

  test('or none, if an item is gone or has more than its id', async () => {
    results['store remove'] = editing(1);
    expect((await failure('DELETE', [{ id: 1 }, { id: 2 }])).slice(0, 2)).toEqual(['entity_not_found', 1]);
    expect((await failure('DELETE', [{ id: 1, name: 'a' }])).slice(0, 2)).toEqual(['unknown_field', 0]);
    expect(names()).not.toContain('afterCommit');
  });
});
