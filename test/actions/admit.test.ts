import { beforeEach, describe, expect, test } from 'vitest';
import {
  admitCollection,
  admitFound,
  admitLoaded,
  admitSingle,
  checkDeclared,
  checkedAs,
  missing,
} from '../../src/actions/admission.ts';
import { itemRequest } from '../../src/actions/bulk/item-request.ts';
import { EarlyReply } from '../../src/actions/hooks.ts';
import { withParameters } from '../../src/actions/parameters.ts';
import { problem } from '../../src/errors.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { FoundEntity } from '../../src/store/entity-store.ts';
import { currentState, stateOf } from '../../src/store/request-state.ts';

type Any = any;

/** The steps of a request, in order, and what each returns. */
let steps: unknown[][] = [];
let results: Record<string, unknown> = {};
const step =
  (name: string): Any =>
  (...given: unknown[]) => {
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

class Item {}
class Special extends Item {}
class Other {}
const metas = new Map<Any, Any>([Item, Special, Other].map((type) => [type, { class: type, className: type.name }]));
const meta = { ...metas.get(Item), className: 'SomeItem' };
/** What MikroORM detects entities by. */
const entitySymbol = Symbol.for('@mikro-orm/core/EntityHelper.entity');
function entityOf(type: Any): object {
  const helper = { __meta: metas.get(type), getPrimaryKey: () => 1 };
  return Object.defineProperties(new type(), {
    __helper: { value: helper },
    __meta: { value: helper.__meta },
    [entitySymbol]: { value: true },
  });
}
const inUnitOfWork: { entity: unknown } = { entity: null };
const mapper: Any = {
  getMetadata: () => ({ get: (type: unknown) => metas.get(type) }),
  em: { fork: () => ({ getUnitOfWork: () => ({ getById: () => inUnitOfWork.entity }) }) },
};
const guard: Any = { readsSubject: false, check: step('check') };
const api: Any = {
  framework: { mapper },
  meta,
  name: 'items',
  api: { name: 'items' },
  hooks: { afterFetch: step('afterFetch'), afterAccessCheck: step('afterAccessCheck') },
  overrides: new Set(),
  restricts: false,
  keyIn: ({ params }: Any) => (params.id === 'x' ? undefined : params.id),
  guardOf: (...given: unknown[]) => {
    steps.push(['guardOf', ...given]);
    return guard;
  },
  declaredGuardOf: (...given: unknown[]) => {
    steps.push(['declaredGuardOf', ...given]);
    return guard;
  },
};
const hooked: Any = { ...api, overrides: new Set(['afterFetch', 'afterAccessCheck']) };

function requestOf({ headers = {}, id = 1 as unknown, method = 'PATCH', query = {} } = {}): Any {
  const request: Any = { method, headers, query, params: { id }, user: { id: 'anna', roles: [] } };
  const read = step('parameters');
  withParameters((() => undefined) as Any, { names: ['a'], read } as Any).beforeBody?.(request);
  return request;
}

const found: Any = { key: 1, entity: { name: 'row' }, version: null, versionText: null, json: () => null };
const find = step('find');
const denial = problem('access_denied');

beforeEach(() => {
  steps = [];
  results = { find: Promise.resolve(found), parameters: {} };
});

test('access to a list is checked before its parameters are read and a hook runs', async () => {
  for (const of of [api, hooked]) {
    steps = [];
    const request = requestOf();
    await admitCollection(of, '_index', request);
    expect(steps).toEqual([
      ['guardOf', '_index', 'PATCH'],
      ['check', null, request.user, request],
      ['parameters', {}],
      ...(of === hooked ? [['afterAccessCheck', '_index', request, null]] : []),
    ]);
  }
  results.afterAccessCheck = new JsonReply(1);
  expect(await thrown(admitCollection(hooked, '_index', requestOf()))).toBeInstanceOf(EarlyReply);
  results.check = Promise.reject(denial);
  expect(await thrown(admitCollection(hooked, '_index', requestOf()))).toBe(denial);
  expect(names().slice(-2)).toEqual(['guardOf', 'check']);
});

test('a missing row is noted, because a stored response may still be returned', () => {
  const request = requestOf();
  expect(stateOf(request, mapper).isMissing).toBe(false);
  expect(missing(api, request)).toMatchObject({ status: 404, code: 'entity_not_found', message: 'no some_item has this id' });
  expect(stateOf(request, mapper).isMissing).toBe(true);
});

describe('a row', () => {
  test('is found before access to it is checked', async () => {
    const request = requestOf();
    expect(await admitSingle(api, 'close', request, { find, isDeferred: false })).toEqual({
      action: 'close',
      key: 1,
      restriction: null,
      found,
    });
    expect(steps).toEqual([
      ['guardOf', 'close', 'PATCH'],
      ['parameters', {}],
      ['find', request, 1, null],
      ['check', null, request.user, request],
    ]);
  });

  test('that does not exist returns 404 before any check', async () => {
    results.find = Promise.resolve(null);
    for (const isDeferred of [false, true]) {
      for (const id of [1, 'x']) {
        steps = [];
        const request = requestOf({ id, headers: { 'if-match': '*' } });
        expect((await thrown(admitSingle(api, 'close', request, { find, isDeferred }))).code).toBe('entity_not_found');
        expect(names()).toEqual(id === 'x' ? [] : ['guardOf', 'parameters', 'find']);
        expect(stateOf(request, mapper).isMissing).toBe(true);
      }
    }
  });

  test.each<[string, Any]>([
    ['If-Match', { headers: { 'if-match': '"a"' } }],
    ['If-None-Match', { headers: { 'if-none-match': '"a"' } }],
    ['a query parameter', { query: { a: '1' } }],
    ['an idempotency key', { headers: { 'idempotency-key': 'k' } }],
  ])('that can be written unread is read for a request with %s', async (_, options) => {
    const admission = await admitSingle(api, 'close', requestOf(options), { find, isDeferred: true });
    expect([admission.found, names()]).toEqual([found, ['guardOf', 'parameters', 'find', 'check']]);
  });

  test('that can be written unread is read only if access is denied: 404 comes before 403', async () => {
    const request = requestOf();
    expect(await admitSingle(api, 'close', request, { find, isDeferred: true })).toEqual({
      action: 'close',
      key: 1,
      restriction: null,
      found: null,
    });
    expect(steps.slice(2)).toEqual([['check', null, request.user, request]]);
    results.check = denial;
    expect(await thrown(admitSingle(api, 'close', requestOf(), { find, isDeferred: true }))).toBe(denial);
    expect(names().slice(-2)).toEqual(['check', 'find']);
    results.find = Promise.resolve(null);
    expect((await thrown(admitSingle(api, 'close', requestOf(), { find, isDeferred: true }))).code).toBe('entity_not_found');
    steps = [];
    results.check = new Error('broken voter');
    expect(await thrown(admitSingle(api, 'close', requestOf(), { find, isDeferred: true }))).toBe(results.check);
    expect(names()).not.toContain('find');
  });

  test('that was found is checked between hooks', async () => {
    const request = requestOf();
    await admitFound(hooked, 'close', request, found, guard);
    expect(steps).toEqual([
      ['afterFetch', 'close', request, found.entity],
      ['check', null, request.user, request],
      ['afterAccessCheck', 'close', request, found.entity],
    ]);
    results.check = Promise.reject(denial);
    expect(await thrown(admitFound(hooked, 'close', request, found, guard))).toBe(denial);
    expect(names().at(-1)).toBe('check');
    results.afterFetch = new JsonReply(1);
    expect(await thrown(admitFound(hooked, 'close', request, found, guard))).toBeInstanceOf(EarlyReply);
    expect(names().at(-1)).toBe('afterFetch');
    results = { afterAccessCheck: new JsonReply(1) };
    expect(await thrown(admitFound(hooked, 'close', request, found, guard))).toBeInstanceOf(EarlyReply);
  });

  test('is the subject of the check if voters read it, or if it is an entity anyway', async () => {
    const entity = entityOf(Item);
    for (const [one, readsSubject, subject] of [
      [found, true, found.entity],
      [found, false, null],
      [new FoundEntity(entity, meta, null), false, entity],
    ] as const) {
      steps = [];
      await admitFound(api, 'close', requestOf(), one, { ...guard, readsSubject });
      expect(steps.map(([name, given]) => [name, given])).toEqual([['check', subject]]);
    }
  });
});

describe('a row that the controller loads', () => {
  const load = (entity: unknown) => async () => {
    steps.push(['load']);
    return entity;
  };

  test('is checked as an entity', async () => {
    for (const type of [Item, Special]) {
      steps = [];
      const entity = entityOf(type);
      const request = requestOf({ method: 'GET' });
      const admission = await admitLoaded(api, 'close', request, load(entity));
      expect(admission).toMatchObject({ action: 'close', key: 1, restriction: null, found: { entity, version: null } });
      expect(admission.found).toBeInstanceOf(FoundEntity);
      expect(steps).toEqual([
        ['guardOf', 'close', 'GET'],
        ['parameters', {}],
        ['load'],
        ['check', entity, request.user, request],
      ]);
      expect(stateOf(request, mapper).loadedKey).toBe(1);
    }
  });

  test('is the one that getEntity of the base controller found, with its restriction', async () => {
    const entity = entityOf(Item);
    const own: Any = { ...found, entity, key: 5 };
    const request = requestOf();
    stateOf(request, mapper).loaded = { found: own, restriction: 'restriction' as Any };
    expect(await admitLoaded(api, 'close', request, load(entity))).toEqual({
      action: 'close',
      key: 5,
      restriction: 'restriction',
      found: own,
    });
  });

  test('returns 404 without an entity, and an error with anything else', async () => {
    for (const none of [null, undefined])
      expect((await thrown(admitLoaded(api, 'close', requestOf(), load(none)))).code).toBe('entity_not_found');
    for (const other of [{}, 5, entityOf(Other)])
      expect((await thrown(admitLoaded(api, 'close', requestOf(), load(other)))).message).toBe(
        'getEntity of the controller of "items" must return an entity of SomeItem, or throw',
      );
    expect(names()).not.toContain('check');
  });

  test('must be known to the entity manager of the request if the action changes it', async () => {
    inUnitOfWork.entity = entityOf(Item);
    expect((await thrown(admitLoaded(api, 'close', requestOf(), load(entityOf(Item))))).message).toBe(
      'getEntity of the controller of "items" must load the entity with this.em, because this action changes it',
    );
    expect(names()).not.toContain('check');
  });
});

describe('the declared roles', () => {
  const subject = {};
  const checked = () => steps.filter(([name]) => name === 'declaredGuardOf').map(([, ...given]) => given);

  test('are those of the action and the method', async () => {
    const request = requestOf();
    await checkDeclared(api, '_entity', request, subject);
    expect(steps).toEqual([
      ['declaredGuardOf', '_entity', 'PATCH'],
      ['check', subject, request.user, request],
    ]);
    results.check = Promise.reject(denial);
    expect(await thrown(checkDeclared(api, '_entity', request, subject))).toBe(denial);
  });

  test('are those of the list for its items, unless their visibility is checked', async () => {
    const request = requestOf();
    const item = itemRequest(request, { body: {} });
    const own = stateOf(request, mapper);
    const as = (method: 'GET' | 'PATCH', of: Any, state = own) =>
      checkedAs({ state, method }, () => checkDeclared(api, '_entity', of, subject));
    await checkDeclared(api, '_entity', item, subject);
    await checkDeclared(api, 'close', item, subject);
    for (const method of ['GET', 'PATCH'] as const) for (const of of [item, request]) await as(method, of);
    // a request that the check sends
    await as('GET', request, stateOf(requestOf(), mapper));
    expect(checked()).toEqual([
      ['_index', 'PATCH'],
      ['close', 'PATCH'],
      ['_entity', 'GET'],
      ['_entity', 'GET'],
      ['_index', 'PATCH'],
      ['_entity', 'PATCH'],
      ['_entity', 'PATCH'],
    ]);
  });

  test('are checked on behalf of the request, and its result is returned', async () => {
    const state = stateOf(requestOf(), mapper);
    expect(checkedAs({ state, method: 'GET' }, () => currentState())).toBe(state);
  });
});
