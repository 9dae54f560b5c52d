import { beforeEach, describe, expect, test } from 'vitest';
import { BulkReply } from '../../src/actions/bulk/bulk-reply.ts';
import { answerOf, respond, type ShownRows, send, writes } from '../../src/actions/respond.ts';
import { turnLength } from '../../src/event-loop.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { FoundRow, FoundRows } from '../../src/store/row-store.ts';

type Any = any;

/** The steps of a response, in order. */
let steps: unknown[][] = [];
beforeEach(() => {
  steps = [];
});

const other: Any = { className: 'Other', root: { className: 'OtherRoot' } };
const [read, others] = ['read', 'others'].map((name) => ({ read: [name], embedded: [name], write: [] })) as [Any, Any];
class Item {}
const model: Any = { class: Item, className: 'Item', root: { tableName: 'item' }, properties: {} };
const entitySymbol = Symbol.for('@mikro-orm/core/EntityHelper.entity');
/** An entity; without a key, it was never written. */
function entityOf(key: number | undefined): object {
  const helper = {
    __meta: model,
    hasPrimaryKey: () => key !== undefined,
    getPrimaryKey: () => key,
    isInitialized: () => true,
  };
  return Object.defineProperties(Object.assign(new Item(), { a: key }), {
    __helper: { value: helper },
    __meta: { value: helper.__meta },
    [entitySymbol]: { value: true },
  });
}
const metadata = { getMetadata: () => ({ get: () => model }) };
const mapper: Any = { ...metadata, em: { fork: () => metadata } };
const field = (name: string) => ({ name, kind: 'scalar', metadata: {}, normalization: null });
const planOf = (...names: string[]) => ({ variants: new Map([[{}, names.map(field)]]) });
const serializerOf = ({ read: [name] }: Any) => ({
  serialize: (value: unknown, rows: Any) => {
    if (value instanceof Item) rows.showsKey(other, 5);
    return value;
  },
  planFor: () => planOf(`of ${name}`, 'a'),
  planInside: () => planOf('inside', 'a'),
});
const framework: Any = {
  mapper,
  visibilityOf: () => ({
    isLimited: () => true,
    isDecidedByKey: () => true,
    seen: async (_: unknown, keys: Map<string, unknown>) => keys.keys(),
  }),
  serializer: serializerOf,
  declaration: { server: { baseUrl: 'https://api.example' } },
  tags: {
    mark: (...given: unknown[]) => given.join(),
    ofAny: (body: string, mark: string | null) => {
      steps.push(['tag', body, mark]);
      return '"t"';
    },
  },
  responses: {
    admit: (...given: unknown[]) => steps.push(['admit', given.at(-1)]),
    makeRoom: async (_request: unknown, _reply: unknown, ...given: unknown[]) => steps.push(['makeRoom', ...given]),
  },
};
const grants: Any = { fixed: read, ofCollection: async () => read };
const byRole: Any = { fixed: null, ofCollection: async () => read };
const requestOf = (method = 'POST', headers = {}): Any => ({ method, headers, url: '/item/7.json?a=1' });
const shownRows = (): ShownRows => ({ returned: [], embedded: [] });

const row: Any = Object.create(FoundRow.prototype, {
  key: { value: 7 },
  versionText: { value: '3' },
  json: { value: async () => '{"a":1}' },
});
const rows: Any = Object.create(FoundRows.prototype, {
  rows: { value: [{ key: 7 }, { key: 8 }] },
  json: { value: async () => '{"a":1},{"a":2}' },
});
const json = { 'content-type': 'application/json; charset=utf-8' };

describe('a written row', () => {
  test('is sent with its tag by default actions, and PUT names its URL', async () => {
    for (const method of ['POST', 'PUT']) {
      steps = [];
      const shown = shownRows();
      const given = new JsonReply(row, { status: 201, headers: { x: 'y' } });
      const answer = await answerOf(framework, requestOf(method), given, 'json', { grants, model, isDefault: true, shown });
      const location = method === 'PUT' ? { 'content-location': 'https://api.example/item/7.json' } : {};
      expect(answer).toEqual({ status: 201, headers: { x: 'y', ...json, etag: '"t"', ...location }, body: '{"a":1}' });
      expect(shown).toEqual({ returned: [['Item', '7']], embedded: [] });
      expect(steps).toEqual([['tag', '{"a":1}', 'item,7,3']]);
    }
  });

  test('is sent without a tag by other actions, and in the columns of the groups', async () => {
    const answer = await answerOf(framework, requestOf(), row, 'csv', { grants, model });
    expect(answer).toMatchObject({ status: 200, body: expect.stringMatching(/^of read,a\r?\n,1\r?\n$/) });
    expect(answer.headers).toEqual({ 'content-type': 'text/csv; charset=utf-8; header=present' });
    expect(steps).toEqual([]);
  });
});

test.each([
  ['json', '{"count":2,"results":[{"a":1},{"a":2}]}'],
  ['ndjson', '{"a":1}\n{"a":2}\n'],
  ['csv', 'of read,a\n,1\n,2\n'],
] as const)('written rows are sent as %s', async (format, body) => {
  const shown = shownRows();
  const given = new BulkReply(rows, 201);
  const answer = await answerOf(framework, requestOf(), given, format, { grants, model, isDefault: true, shown });
  expect([answer.status, answer.body?.replaceAll('\r\n', '\n'), answer.headers.etag]).toEqual([201, body, undefined]);
  expect(answer.headers['content-type']).toContain(format === 'json' ? 'application/json' : format);
  expect(shown.returned).toEqual([
    ['Item', '7'],
    ['Item', '8'],
  ]);
});

test('the groups of a stored response are noted if they depend on roles', async () => {
  const groupsFor = async (of: Any, given: unknown) => {
    const shown = shownRows();
    await answerOf(framework, requestOf(), given, 'json', { grants: of, model, shown });
    return shown.groups;
  };
  const key = '[["read"],["read"],[]]';
  expect(await groupsFor(grants, { a: 1 })).toBeUndefined();
  expect(await groupsFor(byRole, { a: 1 })).toBe(key);
  const named = (of: Any) => ({ ...of, named: () => ({ ...of, ofRequest: async () => read }) });
  expect(await groupsFor(named(byRole), new JsonReply({ a: 1 }, { groups: ['own'] }))).toBe('named by code');
  expect(await groupsFor(named(grants), new JsonReply({ a: 1 }, { groups: ['own'] }))).toBeUndefined();
  for (const [of, expected] of [
    [[read, read], key],
    [[read, others], 'by row'],
    [[others, others], 'by row'],
    [[], key],
  ] as const) {
    const entities = of.map((groups): [object, Any] => [{}, groups]);
    const results = entities.map(([entity]) => entity);
    expect(await groupsFor(byRole, new BulkReply({ count: 2, results }, 200, new Map(entities)))).toBe(expected);
    expect(await groupsFor(grants, new BulkReply({ count: 2, results }, 200, new Map(entities)))).toBeUndefined();
  }
});

test('the groups of a request are decided once', async () => {
  const request = requestOf();
  let calls = 0;
  const counting = { ...byRole, ofCollection: async () => calls++ === 0 && read };
  for (const _ of [1, 2]) await answerOf(framework, request, { a: 1 }, 'json', { grants: counting });
  expect([calls, stateOf(request, mapper).groups]).toEqual([1, read]);
});

describe('a long list', () => {
  const item = 'x'.repeat(turnLength / 2 - 2);
  // the first two and their comma are as long as a turn
  const results = [item.slice(1), item, item, item, item];
  const reply: Any = { code: () => reply, headers: () => reply, send: (body: string) => body };

  test('is written with pauses by requests that read', async () => {
    const value = { count: 5, results };
    for (const [method, pauses] of [
      ['GET', 2],
      ['HEAD', 2],
      ['POST', 0],
    ] as const) {
      steps = [];
      expect(await respond(framework, requestOf(method), reply, value, 'json', { grants })).toBe(JSON.stringify(value));
      const paused = steps.filter(([name]) => name === 'makeRoom').map(([, length, part]) => [length, part]);
      const length = (items: number) =>
        results
          .slice(0, items)
          .map((each) => JSON.stringify(each))
          .join().length;
      expect(paused).toEqual(
        [
          [length(3), 3 / 5],
          [length(5), 1],
        ].slice(0, pauses),
      );
      expect(steps.at(-1)?.[0]).toBe('admit');
    }
    steps = [];
    await respond(framework, requestOf('GET'), reply, { results: [item, item.slice(3)] }, 'json', { grants });
    expect(steps.map(([name]) => name)).not.toContain('makeRoom');
  });

  test('has its own JSON if it makes that itself', async () => {
    const value = { results, toJSON: () => ({ a: 1 }) };
    expect(await respond(framework, requestOf('GET'), reply, value, 'json', { grants })).toBe('{"a":1}');
  });
});

test('a response without a body needs no room', () => {
  const sent: unknown[] = [];
  const reply: Any = { code: () => reply, headers: () => reply, send: (body: unknown) => sent.push(body) };
  for (const body of ['text', null]) send(framework, requestOf(), reply, { status: 200, headers: {}, body });
  expect([sent, steps]).toEqual([['text', undefined], [['admit', 'text']]]);
});

test('all methods but GET and HEAD write', () => {
  expect(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].map(writes)).toEqual([false, false, true, true, true, true]);
});

describe('an entity', () => {
  const answer = (given: unknown, { format = 'json', isDefault = false, method = 'POST', shown = shownRows() }: Any = {}) =>
    answerOf(framework, requestOf(method), given, format, { grants, model, isDefault, shown });

  test('is noted with the rows that it embeds, if it is a row', async () => {
    for (const [given, returned] of [
      [entityOf(1), [['Item', '1']]],
      [
        [entityOf(1), entityOf(undefined), entityOf(2)],
        [
          ['Item', '1'],
          ['Item', '2'],
        ],
      ],
    ] as const) {
      const shown = shownRows();
      await answer(given, { shown });
      expect(shown.returned).toEqual(returned);
      expect(shown.embedded).toEqual(Array.isArray(given) ? [] : [['OtherRoot', '5']]);
    }
    expect(await answerOf(framework, requestOf(), entityOf(1), 'json', { grants })).toMatchObject({ body: '{"a":1}' });
  });

  test('has the columns of the row of the action, or of one inside', async () => {
    for (const [isDefault, header] of [
      [true, 'of read,a'],
      [false, 'inside,a'],
    ] as const)
      expect((await answer(entityOf(1), { format: 'csv', isDefault })).body?.split(/\r?\n/)[0]).toBe(header);
    const entity = entityOf(1);
    const bulk = new BulkReply({ count: 1, results: [entity], pagination: {} }, 200, new Map([[entity, read]]));
    expect((await answer(bulk, { format: 'csv' })).body?.split(/\r?\n/)[0]).toBe('of read,a');
  });

  test('has a tag after a write of a default action that succeeded', async () => {
    for (const [status, isDefault, method, etag] of [
      [200, true, 'PATCH', '"t"'],
      [201, true, 'POST', '"t"'],
      [202, true, 'POST', undefined],
      [201, false, 'POST', undefined],
      [200, false, 'GET', '"t"'],
      [201, true, 'GET', undefined],
    ] as const) {
      const { headers } = await answer(new JsonReply(entityOf(1), { status }), { isDefault, method });
      expect([status, isDefault, method, headers.etag]).toEqual([status, isDefault, method, etag]);
    }
  });
});
