import { beforeEach, describe, expect, test } from 'vitest';
import { change, remove } from '../../src/actions/change.ts';
import { anyBodyOf, bodyOf, create, makeEntity, validated } from '../../src/actions/create.ts';
import { EarlyReply } from '../../src/actions/hooks.ts';
import { problem, type Violation } from '../../src/errors.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { FoundRow } from '../../src/store/row-store.ts';

type Any = any;

/** The steps of a request, in order, and what each returns. */
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

const groups = { read: ['read'], embedded: [], write: ['write'] };
const em = {};
const entity = { is: 'entity' };
const nested = 'nested' as Any;
const meta: Any = { className: 'Item', versionProperty: undefined, properties: {} };
const hooks: Any = Object.fromEntries(
  ['beforeValidation', 'validate', 'afterValidation', 'afterCommit'].map((name) => [name, step(name)]),
);
const pathOf = (...given: unknown[]) => {
  steps.push(['pathOf', ...given]);
  return results.pathOf ?? null;
};

function apiWith({ basePath = '/item', prefix = '', location = { pathOf }, requireIfMatch = false }: Any = {}): Any {
  return {
    framework: {
      mapper: { em: { fork: () => em } },
      prefix,
      pathRules: 'rules',
      declaration: { server: { baseUrl: 'https://api.example' } },
      deserializer: (given: unknown) => {
        expect(given).toBe(groups);
        return { create: step('read body'), update: step('read body') };
      },
      validator: { validate: step('validate row') },
    },
    hooks,
    meta,
    nested,
    location,
    api: {
      basePath,
      requireIfMatch,
      actions: [
        { name: '_index', validationGroups: ['new'] },
        { name: '_entity', validationGroups: ['old'] },
      ],
    },
  };
}

const api = apiWith();
function requestOf({ body = {}, headers = {}, query = {}, url = '/item.json' }: Any = {}, of = api): Any {
  const request: Any = { body, headers, query, url };
  stateOf(request, of.framework.mapper).groups = groups;
  return request;
}
const request = requestOf();

const violation = (propertyPath: string): Violation => ({ propertyPath, title: 'is wrong' }) as Violation;
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );
const pathsOf = (error: Any) =>
  JSON.stringify(error)
    .match(/"propertyPath":"[^"]*"/g)
    ?.map((each) => each.slice(16, -1));

beforeEach(() => {
  steps = [];
  results = { validate: [] };
});

describe('an entity is validated', () => {
  test('between hooks, with the groups of the action', async () => {
    await validated(api, '_index', request, entity);
    expect(steps).toEqual([
      ['beforeValidation', '_index', request, entity],
      ['validate', entity, { action: '_index', request, groups: ['new'] }],
      ['afterValidation', '_index', request, entity],
    ]);
    steps = [];
    await validated(api, 'close', request, entity);
    expect(steps[1]).toEqual(['validate', entity, { action: 'close', request, groups: [] }]);
  });

  test('and all violations are reported together, those of the body first and each place once', async () => {
    results.validate = [violation('a'), violation('b')];
    const ofRows = async () => [violation('rows[0].c'), violation('b')];
    for (const [known, rows, paths] of [
      [[], undefined, ['a', 'b']],
      [[violation('b')], undefined, ['b', 'a']],
      [[violation('b'), violation('d')], ofRows, ['b', 'd', 'a', 'rows[0].c']],
    ] as const) {
      steps = [];
      const error = await thrown(validated(api, '_index', request, entity, known, rows));
      expect([error.status, pathsOf(error)]).toEqual([422, paths]);
      expect(names()).toEqual(['beforeValidation', 'validate']);
    }
    results.validate = [];
    expect(pathsOf(await thrown(validated(api, '_index', request, entity, [violation('b')])))).toEqual(['b']);
  });

  test('and an error of beforeValidation counts, unless it may come from an invalid body', async () => {
    const error = new Error('no number');
    results.beforeValidation = error;
    expect(await thrown(validated(api, '_index', request, entity))).toBe(error);
    expect(pathsOf(await thrown(validated(api, '_index', request, entity, [violation('b')])))).toEqual(['b']);
    expect(names()).not.toContain('validate');
    results.beforeValidation = problem('access_denied');
    expect((await thrown(validated(api, '_index', request, entity, [violation('b')]))).code).toBe('access_denied');
  });

  test.each(['beforeValidation', 'afterValidation'])('and a reply of %s ends the action', async (name) => {
    results[name] = new JsonReply(1);
    expect(await thrown(validated(api, '_index', request, entity))).toBeInstanceOf(EarlyReply);
    const known = name === 'beforeValidation' ? [violation('b')] : [];
    expect(await thrown(validated(api, '_index', request, entity, known))).toBeInstanceOf(EarlyReply);
  });
});

test('a body must be an object, or any JSON for code of the application', () => {
  for (const [body, reason] of [
    [undefined, 'it is missing'],
    [null, 'it is not an object'],
    [[1], 'it is not an object'],
    ['text', 'it is not an object'],
  ] as const) {
    const expected = expect.objectContaining({ code: 'invalid_body', message: expect.stringContaining(reason) });
    expect(() => bodyOf({ body } as Any)).toThrow(expected);
    if (body === undefined || body === null) expect(() => anyBodyOf({ body } as Any)).toThrow(expected);
    else expect(anyBodyOf({ body } as Any)).toBe(body);
  }
  const body = {};
  expect([bodyOf({ body } as Any), anyBodyOf({ body } as Any), anyBodyOf({ body: 0 } as Any)]).toEqual([body, body, 0]);
});

describe('a new entity', () => {
  test('is made from the body and validated together with its rows', async () => {
    const made = {
      entity,
      violations: [violation('z')],
      rows: [
        { entity: 1, path: 'rows[0]' },
        { entity: 2, path: 'rows[1]' },
      ],
    };
    results = { 'read body': made, validate: [violation('a')], 'validate row': [violation(''), violation('b')] };
    const body = { name: 'new' };
    const one = requestOf({ body });
    const error = await thrown(makeEntity(api, one));
    expect(pathsOf(error)).toEqual(['z', 'a', 'rows[0]', 'rows[0].b', 'rows[1]', 'rows[1].b']);
    const context = { action: '_index', request: one, groups: ['new'] };
    expect(steps).toEqual([
      ['read body', [meta], body, { em, request: one, nested }],
      ['beforeValidation', '_index', one, entity],
      ['validate', entity, context],
      ['validate row', 1, context, groups],
      ['validate row', 2, context, groups],
    ]);
    results = { 'read body': { entity, violations: [], rows: [] }, validate: [] };
    expect(await makeEntity(api, one)).toBe(entity);
  });

  const row: Any = Object.create(FoundRow.prototype, { key: { value: 7 } });
  const store = { create: step('write') } as Any;

  test('is written, and returned with its URL after the hook afterCommit', async () => {
    results = { write: row, validate: [], pathOf: '/item/7.json' };
    const reply = await create(api, store, request, 'json');
    expect([reply.value, reply.status, reply.headers]).toEqual([row, 201, { location: 'https://api.example/item/7.json' }]);
    expect(names()).toEqual(['write', 'afterCommit', 'pathOf']);
    expect(steps[1]).toEqual(['afterCommit', '_index', request, row]);
    const [, given, { check, make }] = steps[0] as Any;
    expect(given).toBe(request);
    steps = [];
    await check(entity);
    expect(steps[1]).toEqual(['validate', entity, { action: '_index', request, groups: ['new'] }]);
    results['read body'] = { entity, violations: [], rows: [] };
    expect(await make()).toBe(entity);
    results.afterCommit = new JsonReply(1);
    expect(await thrown(create(api, store, request, 'json'))).toBeInstanceOf(EarlyReply);
  });

  test.each<[string, Any, string, string, string]>([
    ['/item.json', {}, 'json', '/item', 'https://api.example/x'],
    ['/item.xml?a=1', {}, 'xml', '/item', 'https://api.example/x'],
    ['/a/b/item.json', { prefix: '/a/b' }, 'json', '/item', 'https://api.example/a/b/x'],
    ['/a//shop/3/item.json', { prefix: '/a/', basePath: '/shop/{shop}/item' }, 'json', '/shop/3/item', 'https://api.example/a/x'],
    ['/item/new.json', {}, 'json', '/item', 'https://api.example/x'],
  ])('at %s has a URL beside the list', async (url, options, format, list, location) => {
    results = { write: row, pathOf: '/x' };
    const own = apiWith(options);
    const { headers } = await create(own, store, requestOf({ url }, own), format);
    expect(steps.at(-1)).toEqual(['pathOf', list, 7, format, 'rules']);
    expect(headers).toEqual({ location });
  });

  test('has no URL if no route serves it', async () => {
    results = { write: row };
    expect((await create(api, store, request, 'json')).headers).toEqual({});
    const own = apiWith({ location: null });
    expect((await create(own, store, requestOf({}, own), 'json')).headers).toEqual({});
  });

  test('is not written with undeclared parameters or a tag in If-Match', async () => {
    expect((await thrown(create(api, store, requestOf({ query: { a: '1' } }), 'json'))).code).toBe('unknown_parameter');
    expect((await thrown(create(api, store, requestOf({ headers: { 'if-match': '"a"' } }), 'json'))).code).toBe(
      'precondition_failed',
    );
    expect(steps).toEqual([]);
  });
});

describe('a row', () => {
  const admission: Any = { action: '_entity', key: 1, restriction: null, found: null };
  const store = { change: step('write'), remove: step('write') } as Any;
  const versioned: Any = { ...api, meta: { ...meta, versionProperty: 'revision', properties: { revision: {} } } };
  const strict = { ...versioned, api: { ...api.api, requireIfMatch: true } };
  const writes = (of: Any, one: Any) => [
    () => change(of, store, one, admission, 'patch'),
    () => remove(of, store, one, admission),
  ];

  test.each(['patch', 'replace'] as const)('is changed by its body and validated: %s', async (mode) => {
    const body = { name: 'new' };
    const one = requestOf({ body });
    results = { write: entity, validate: [], 'read body': { violations: [] } };
    expect(await change(api, store, one, admission, mode)).toBe(entity);
    expect([steps[0]?.slice(0, 3), steps[1]]).toEqual([
      ['write', one, admission],
      ['afterCommit', '_entity', one, entity],
    ]);
    const { apply, check } = (steps[0] as Any)[3];
    steps = [];
    await apply(entity);
    const context = { action: '_entity', request: one, groups: ['old'] };
    expect(steps.slice(0, 3)).toEqual([
      ['read body', entity, body, mode, { em, request: one }],
      ['beforeValidation', '_entity', one, entity],
      ['validate', entity, context],
    ]);
    steps = [];
    await check(entity);
    expect(steps[1]).toEqual(['validate', entity, context]);
    results['read body'] = { violations: [violation('b')] };
    expect(pathsOf(await thrown(apply(entity)))).toEqual(['b']);
  });

  test('is removed', async () => {
    results.write = entity;
    const reply = await remove(api, store, request, admission);
    expect([reply.value, reply.status]).toEqual([undefined, 204]);
    expect(steps).toEqual([
      ['write', request, admission],
      ['afterCommit', '_entity', request, entity],
    ]);
  });

  test('that is gone returns 404, and no hook runs', async () => {
    results.write = null;
    for (const write of writes(api, request)) {
      steps = [];
      const one = await thrown(write());
      expect([one.code, names(), stateOf(request, api.framework.mapper).isMissing]).toEqual([
        'entity_not_found',
        ['write'],
        true,
      ]);
    }
  });

  test('is not written with undeclared parameters, or without a required If-Match', async () => {
    for (const write of writes(api, requestOf({ query: { a: '1' } })))
      expect((await thrown(write())).code).toBe('unknown_parameter');
    for (const write of writes(strict, request)) expect((await thrown(write())).code).toBe('precondition_required');
    expect(steps).toEqual([]);
  });

  test('can be replied to by the hook afterCommit', async () => {
    results = { write: entity, afterCommit: new JsonReply(1) };
    for (const write of writes(api, request)) expect(await thrown(write())).toBeInstanceOf(EarlyReply);
  });
});
