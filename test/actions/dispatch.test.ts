import { beforeEach, describe, expect, test } from 'vitest';
import { BulkReply } from '../../src/actions/bulk/bulk-reply.ts';
import { type Acting, actionHandler, directly, withEarlyReply } from '../../src/actions/dispatch.ts';
import { ExportReply } from '../../src/actions/export/export-reply.ts';
import { EarlyReply } from '../../src/actions/hooks.ts';
import type { Exchange } from '../../src/actions/idempotency/idempotency-store.ts';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { currentState, stateOf } from '../../src/store/request-state.ts';
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
    const value = typeof result === 'function' ? result(...given) : result;
    if (value instanceof Error || value instanceof EarlyReply) throw value;
    return value;
  };
const names = () => steps.map(([name]) => name);

const groups = { read: ['read'], embedded: [], write: [] };
const mapper: Any = { em: { fork: () => ({}) } };
const serializer = { serialize: (value: unknown) => value, planFor: () => ({ variants: new Map() }) };
const guard = { readsSubject: false, check: step('check') };
const grants: Any = { fixed: groups, readsSubject: false, ofCollection: step('ofCollection') };
const api: Any = {
  framework: {
    mapper,
    visibilityOf: () => ({}),
    serializer: () => serializer,
    responses: { admit() {} },
    tags: { mark: () => 'mark', ofAny: () => '"t"' },
    places: { take: async () => ({ release: step('release') }) },
  },
  hooks: { beforeSerialize: step('beforeSerialize') },
  meta: { className: 'Item', relations: [], filters: {}, root: { tableName: 'item' } },
  overrides: new Set(),
  guardOf: (...given: unknown[]) => {
    steps.push(['guardOf', ...given]);
    return guard;
  },
  restricts: false,
  loads: false,
};
const acting: Acting = {
  api,
  action: '_entity',
  format: 'json',
  grants,
  isRepeatable: true,
  isDefault: true,
  idempotencyStore: null,
  admit: step('admit'),
  act: step('act'),
};
const admission = { action: '_entity', key: 1, restriction: null, found: null };

const requestOf = (method = 'POST', headers: object = {}): Any => ({
  method,
  headers,
  query: {},
  body: { a: 1 },
  url: '/item/1.json',
});
function replyOf() {
  const sent: { status?: number; headers?: object; body?: unknown } = {};
  const reply: Any = {
    raw: { once() {} },
    sent: false,
    code: (status: number) => Object.assign(sent, { status }) && reply,
    headers: (headers: object) => Object.assign(sent, { headers }) && reply,
    send: (body: unknown) => Object.assign(sent, { body }),
  };
  return reply;
}
async function run(options: Partial<Acting> = {}, request = requestOf()): Promise<Any> {
  steps = [];
  return actionHandler({ ...acting, ...options })(request, replyOf());
}
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

beforeEach(() => {
  steps = [];
  results = { admit: admission, act: { b: 2 }, ofCollection: groups };
});

describe('an action', () => {
  test('is admitted, carried out and sent, after the hook beforeSerialize', async () => {
    const request = requestOf();
    results.act = () => {
      expect([currentState(), currentState().runningAction]).toEqual([stateOf(request, mapper), 'close']);
      return { b: 2 };
    };
    expect(await run({ action: 'close' }, request)).toMatchObject({ status: 200, body: '{"b":2}' });
    expect(steps).toEqual([
      ['admit', request],
      ['act', request, admission],
      ['beforeSerialize', 'close', request, { b: 2 }],
      ['ofCollection', request],
    ]);
  });

  test('on a list calls the hook itself, with each item', async () => {
    results.act = new BulkReply({ count: 0, results: [] }, 201);
    expect(await run()).toMatchObject({ status: 201, body: '{"count":0,"results":[]}' });
    expect(names()).not.toContain('beforeSerialize');
  });

  test('has the tag of the written row if it is a default action', async () => {
    for (const [action, etag] of [
      ['_index', '"t"'],
      ['_entity', '"t"'],
      ['close', undefined],
    ] as const) {
      results.act = Object.create(FoundRow.prototype, {
        key: { value: 1 },
        versionText: { value: '1' },
        json: { value: () => '{}' },
      });
      expect((await run({ action })).headers.etag).toBe(etag);
    }
  });

  test('that exports can end with the reply of a hook that receives rows, as JSON', async () => {
    const early = new EarlyReply(new JsonReply({ c: 3 }, { status: 202 }));
    const exporting = (error: unknown) =>
      new ExportReply({ format: 'csv', name: 'item', columns: null, open: () => Promise.reject(error) });
    const options: Partial<Acting> = { action: '_index', format: 'csv' };
    results.act = exporting(early);
    expect(await run(options, requestOf('GET'))).toMatchObject({ status: 202, body: '{"c":3}' });
    expect(names()).toEqual(['admit', 'act', 'release', 'ofCollection']);
    const error = new Error('broken');
    results.act = exporting(error);
    expect(await thrown(run(options, requestOf('GET')))).toBe(error);
    const row = { key: { value: 1 }, json: { value: () => Promise.reject(early) } };
    results.act = Object.create(FoundRow.prototype, row);
    expect(await thrown(run())).toBe(early);
  });

  test.each(['admit', 'act', 'beforeSerialize'])('ends with the reply of a hook in %s', async (name) => {
    results[name] =
      name === 'beforeSerialize'
        ? new JsonReply({ c: 3 }, { status: 202 })
        : new EarlyReply(new JsonReply({ c: 3 }, { status: 202 }));
    expect(await run()).toMatchObject({ status: 202, body: '{"c":3}' });
    expect(
      names()
        .filter((each) => each !== 'ofCollection')
        .at(-1),
    ).toBe(name);
  });

  test.each(['admit', 'act', 'beforeSerialize'])('fails with an error in %s', async (name) => {
    results[name] = new Error('broken');
    expect(await thrown(run())).toBe(results[name]);
  });

  test('starts again with a fresh state if its row was changed, unless it cannot be repeated', async () => {
    let turn = 0;
    const states = new Set<unknown>();
    results.act = (request: Any) => {
      states.add(stateOf(request, mapper));
      return turn++ === 0 ? new RowChanged() : { b: 2 };
    };
    expect(await run()).toMatchObject({ status: 200 });
    expect([names().filter((each) => each !== 'ofCollection'), states.size]).toEqual([
      ['admit', 'act', 'admit', 'act', 'beforeSerialize'],
      2,
    ]);
    turn = 0;
    expect((await thrown(run({ isRepeatable: false }))).code).toBe('conflict_version');
    expect(names()).toEqual(['admit', 'act']);
  });
});

describe('a request with an idempotency key', () => {
  const key = { 'idempotency-key': 'k' };
  /** Runs a request, and returns what the store was given. */
  async function exchangeOf(options: Partial<Acting> = {}, method = 'POST'): Promise<{ exchange: Exchange; request: Any }> {
    let exchange: Exchange | null = null;
    const store: Any = {
      read: step('read'),
      answer: async (keyed: unknown, given: Exchange) => {
        steps.push(['answer', await keyed]);
        expect(currentState()).toBe(stateOf(given.request, mapper));
        exchange = given;
        return 'answered';
      },
    };
    results.read = 'keyed';
    const request = requestOf(method, key);
    expect(await run({ idempotencyStore: async () => store, ...options }, request)).toBe('answered');
    expect(steps).toEqual([
      ['read', request],
      ['answer', 'keyed'],
    ]);
    steps = [];
    return { exchange: exchange as unknown as Exchange, request };
  }

  test('goes to the store, if the action keeps one and the request writes', async () => {
    const fails: Any = async () => {
      throw new Error('no store');
    };
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) await exchangeOf({}, method);
    for (const request of [requestOf('GET', key), requestOf('HEAD', key), requestOf()])
      expect(await run({ idempotencyStore: fails }, request)).toMatchObject({ status: 200 });
    expect(await run({ idempotencyStore: null }, requestOf('POST', key))).toMatchObject({ status: 200 });
  });

  test('is admitted and carried out by the same steps', async () => {
    const { exchange, request } = await exchangeOf();
    expect([exchange.api, exchange.request, exchange.reply]).toEqual([api, request, expect.anything()]);
    expect(await exchange.admit()).toBe(admission);
    expect(await exchange.act()).toEqual({ b: 2 });
    expect(steps).toEqual([
      ['admit', request],
      ['act', request, admission],
      ['beforeSerialize', '_entity', request, { b: 2 }],
    ]);
    results.act = new EarlyReply(new JsonReply(1));
    expect(await exchange.act()).toMatchObject({ value: 1 });
    results.act = new Error('broken');
    expect(await thrown(exchange.act())).toBe(results.act);
    const shown: Any = { returned: [], embedded: [] };
    expect(await exchange.render({ b: 2 }, shown)).toMatchObject({ status: 200, body: '{"b":2}' });
  });

  test('renders a row again for default actions, after the hook with the same value', async () => {
    for (const [action, isValue] of [
      ['_entity', true],
      ['_index', false],
    ] as const) {
      const { exchange, request } = await exchangeOf({ action });
      const given = new JsonReply({ b: 2 }, { status: 201 });
      expect(await exchange.rerender?.(given)).toMatchObject({ status: 201, body: '{"b":2}' });
      expect(steps[0]).toEqual(['beforeSerialize', action, request, isValue ? given.value : given]);
    }
    expect((await exchangeOf({ isDefault: false })).exchange.rerender).toBeNull();
  });

  test('gets the response for a row that is gone only if it depends on the caller alone', async () => {
    const body: Any = { status: 200, headers: {}, body: '{}' };
    const empty = { ...body, body: null };
    const restricted = { ...api, restricts: true };
    const loading = { ...api, loads: true };
    const filtered = { ...api, meta: { ...api.meta, filters: { here: { default: true } } } };
    const byRow = { ...api, guardOf: () => ({ ...guard, readsSubject: true }) };
    const groupsByRow = { ...grants, readsSubject: true };
    for (const [options, mayShow] of [
      [{}, true],
      [{ api: restricted }, false],
      [{ api: loading }, false],
      [{ api: filtered }, false],
      [{ api: byRow }, false],
      [{ grants: groupsByRow }, false],
    ] as const) {
      const { exchange } = await exchangeOf(options as Any);
      expect(await exchange.mayShowMissing(body)).toBe(mayShow);
      expect(await exchange.mayShowMissing(empty)).toBe(true);
    }
    const { exchange, request } = await exchangeOf();
    await exchange.mayShowMissing(body);
    expect(steps).toEqual([
      ['guardOf', '_entity', 'POST'],
      ['check', null, null, request],
      ['ofCollection', request],
    ]);
    expect(stateOf(request, mapper).groups).toBe(groups);
    results.check = new Error('denied');
    expect(await thrown(exchange.mayShowMissing(empty))).toBe(results.check);
  });
});

describe('a reading action', () => {
  const handle: Any = step('read');
  const wrap = (overrides: string[], format = 'json') =>
    withEarlyReply({ ...api, overrides: new Set(overrides) }, format as Any, grants, handle);

  test('is wrapped only if a hook may reply, or decides about access', () => {
    for (const overrides of [[], ['customizeQuery'], ['validate']]) expect(wrap(overrides)).toBe(handle);
    for (const overrides of [['afterFetch'], ['checkAccess'], ['customizeQuery', 'afterFetch'], ['validate', 'checkAccess']])
      expect(wrap(overrides)).not.toBe(handle);
  });

  test('ends with the reply of a hook, as JSON if its format is an export', async () => {
    results.read = new EarlyReply(new JsonReply({ c: 3 }, { status: 202 }));
    for (const [format, body] of [
      ['json', '{"c":3}'],
      ['ndjson', '{"c":3}'],
      ['xml', expect.stringContaining('<c>3</c>')],
    ] as const)
      expect(await wrap(['afterFetch'], format)(requestOf('GET'), replyOf())).toMatchObject({ status: 202, body });
  });

  test('has the state of its request, and other errors are thrown', async () => {
    const request = requestOf('GET');
    results.read = () => currentState();
    expect(await wrap(['checkAccess'])(request, replyOf())).toBe(stateOf(request, mapper));
    results.read = new Error('broken');
    expect(await thrown(wrap(['checkAccess'])(request, replyOf()) as Any)).toBe(results.read);
  });
});

test('an action can run without anything around it', () => {
  expect(directly(requestOf(), () => 'done')).toBe('done');
});
