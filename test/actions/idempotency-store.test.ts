import { EventEmitter } from 'node:events';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { EarlyReply } from '../../src/actions/hooks.ts';
import { IdempotencyStore } from '../../src/actions/idempotency/idempotency-store.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { memoryMapper, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const Item = defineEntity({ name: 'Item', properties: { id: p.integer().primary(), name: p.string() } });
const mapper = await memoryMapper(Item);
const execute = (sql: string): Promise<Any[]> => mapper.em.fork().execute(sql) as never;
const names = async () => (await execute('select name from item order by id')).map(({ name }) => name);
/** The texts of the stored responses. */
const kept = async () => (await execute('select answer from declarest_idempotency')).map(({ answer }) => answer);
beforeAll(() => execute('create table item (id integer primary key, name text not null)'));
afterAll(() => mapper.close());

const defaults = { ttl: 60, answerLimit: 100, callerLimit: 10_000, totalLimit: 100_000 };
const storeWith = (idempotency: object = {}, schema = 'update') =>
  new IdempotencyStore({
    mapper,
    declaration: { database: { schema, statementTimeout: 1000 }, server: { idempotency: { ...defaults, ...idempotency } } },
    responses: { admit: () => calls.push('admit size') },
  } as Any);

let calls: string[] = [];
let store = storeWith();
beforeEach(async () => {
  calls = [];
  store = storeWith();
  await execute('delete from item');
  await execute('drop table if exists declarest_idempotency');
});

const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    (result) => ({ result }),
    (error: unknown) => error,
  );
const insert = (em: Any, name = 'new') => em.insert(Item, { name });

/** Sends a request with a key whose action inserts a row, unless options say otherwise. */
async function request(options: Any = {}, by = store): Promise<Any> {
  const {
    act = (em: Any) => insert(em),
    body = { name: 'new' },
    key = 'k',
    given = { id: 1 },
    hooks = [],
    user = null,
  } = options;
  const raw = Object.assign(new EventEmitter(), { writableEnded: false });
  const sent: Any = {};
  const reply: Any = {
    raw,
    code: (status: number) => Object.assign(sent, { status }) && reply,
    headers: (headers: object) => Object.assign(sent, { headers }) && reply,
    send: (text: unknown) => Object.assign(sent, { body: text }),
  };
  const incoming: Any = {
    method: 'POST',
    url: '/item.json',
    body,
    user,
    headers: { 'idempotency-key': key },
    raw: { rawHeaders: ['Idempotency-Key', key] },
  };
  const state = stateOf(incoming, mapper);
  state.isMissing = options.isMissing ?? false;
  const exchange: Any = {
    api: { meta: metaNamed(mapper, 'Item'), framework: { mapper } },
    request: incoming,
    reply,
    rerender: null,
    admit: async () => {
      calls.push('admit');
      if (options.refusal) throw options.refusal;
      return null;
    },
    act: async () => {
      calls.push('act');
      await act(state.em, raw);
      for (const hook of hooks) state.afterCommit?.push(hook);
      return given;
    },
    render: async (value: Any, shown: Any) => {
      const {
        headers = {},
        status = 201,
        value: content,
      } = value instanceof JsonReply ? value : new JsonReply(value, { status: 201 });
      Object.assign(shown ?? {}, options.shown);
      return {
        status,
        headers: { 'X-Own': 'kept', 'Set-Cookie': 'secret', ...headers },
        body: content === null ? null : JSON.stringify(content),
      };
    },
    mayShowMissing: async () => {
      calls.push('mayShowMissing');
      return options.mayShow ?? false;
    },
  };
  await by.answer(by.read(incoming), exchange);
  expect(raw.listenerCount('close')).toBe(0);
  return { ...sent, isReplayed: sent.headers['idempotency-replayed'] };
}
const first = { status: 201, body: '{"id":1}', headers: { 'X-Own': 'kept', 'Set-Cookie': 'secret' } };
const again = { status: 201, body: '{"id":1}', isReplayed: 'true', headers: { 'x-own': 'kept', 'idempotency-replayed': 'true' } };

describe('a request with a key', () => {
  test('runs once, and gets the stored response without its cookies after that', async () => {
    expect(await request()).toMatchObject(first);
    expect(await request()).toEqual(again);
    expect(await request()).toEqual(again);
    expect(calls).toEqual(['admit', 'act', 'admit size', 'admit', 'admit size', 'admit', 'admit size']);
    expect(await names()).toEqual(['new']);
    expect((await kept()).join()).not.toContain('secret');
  });

  test('runs once even if it is sent twice at the same time', async () => {
    const both = await Promise.all([request(), request()]);
    expect(both.map(({ isReplayed }) => isReplayed)).toEqual([undefined, 'true']);
    expect(await names()).toEqual(['new']);
    // with another store, such as one of another process
    const others = await Promise.all([request({ key: 'b' }), request({ key: 'b' }, storeWith())].map(thrown));
    expect(others.filter(({ result }) => result && !result.isReplayed)).toHaveLength(1);
    expect(await names()).toEqual(['new', 'new']);
  });

  test('runs for each key, and for each caller', async () => {
    await request();
    expect((await request({ key: 'other' })).isReplayed).toBeUndefined();
    expect((await request({ user: { id: 'anna', roles: [] } })).isReplayed).toBeUndefined();
    expect(await names()).toEqual(['new', 'new', 'new']);
  });

  test('is rejected if another request had the key', async () => {
    await request();
    expect((await thrown(request({ body: { name: 'other' } }))).code).toBe('idempotency_key_reused');
    expect(await names()).toEqual(['new']);
  });

  test('runs again once its response has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await request();
    vi.advanceTimersByTime(59_999);
    expect((await request()).isReplayed).toBe('true');
    vi.advanceTimersByTime(1);
    expect((await request()).isReplayed).toBeUndefined();
    vi.useRealTimers();
    expect(await names()).toEqual(['new', 'new']);
  });

  test('is rejected without the table, if that must not be created', async () => {
    const error = await thrown(request({}, storeWith({}, 'none')));
    expect([error.code, calls]).toEqual(['idempotency_unavailable', []]);
  });
});

describe('a request that fails', () => {
  const broken = new Error('broken');
  test.each<[string, object]>([
    ['throws', { act: (em: Any) => insert(em).then(() => Promise.reject(broken)) }],
    ['returns an error status', { given: new JsonReply({ code: 'no' }, { status: 409 }) }],
    ['returns violations', { given: [{ propertyPath: 'name', title: 'too long' }] }],
    ['is rendered with an error status', { given: new JsonReply(null, { status: 400 }) }],
    ['ends after its response was sent', { act: timedOut }],
  ])('because it %s writes nothing, and runs again', async (_, options) => {
    const hook = vi.fn();
    await thrown(request({ ...options, hooks: [hook] }));
    expect([await names(), await kept()]).toEqual([[], []]);
    expect(hook).not.toHaveBeenCalled();
    expect((await request()).isReplayed).toBeUndefined();
    expect(await names()).toEqual(['new']);
  });

  /** The connection closes while the action runs. */
  async function timedOut(em: Any, raw: Any) {
    await insert(em);
    raw.writableEnded = true;
    raw.emit('close');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  test('is carried out if only the client is gone', async () => {
    await request({ act: (em: Any, raw: Any) => insert(em).then(() => raw.emit('close')) });
    expect(await names()).toEqual(['new']);
    expect((await request()).isReplayed).toBe('true');
  });
});

describe('access', () => {
  test('is checked before a stored response is returned', async () => {
    await request();
    const refusal = new Error('denied');
    expect(await thrown(request({ refusal }))).toBe(refusal);
    expect(calls.slice(3)).toEqual(['admit']);
  });

  test('to a row that is gone is decided by the stored response', async () => {
    const refusal = new Error('not found');
    expect(await thrown(request({ refusal, isMissing: true, mayShow: true }))).toBe(refusal);
    await request();
    expect(await thrown(request({ refusal, isMissing: true }))).toBe(refusal);
    expect(await request({ refusal, isMissing: true, mayShow: true })).toEqual(again);
    expect(await thrown(request({ refusal, mayShow: true }))).toBe(refusal);
    expect(await names()).toEqual(['new']);
  });

  test('that a hook decides with a reply gets that reply, and nothing runs', async () => {
    const refusal = new EarlyReply(new JsonReply({ own: true }, { status: 202 }));
    expect(await request({ refusal })).toMatchObject({ status: 202, body: '{"own":true}' });
    expect([calls, await names(), await kept()]).toEqual([['admit', 'admit size'], [], []]);
  });
});

describe('hooks after the commit', () => {
  test('run once, when other connections see the row', async () => {
    const seen: unknown[] = [];
    const hook = async () => void seen.push(await names());
    await request({ hooks: [hook] });
    await request({ hooks: [hook] });
    expect(seen).toEqual([['new']]);
  });

  test('can replace the response, also the stored one', async () => {
    const hook = () => new JsonReply({ replaced: true }, { status: 202 });
    expect(await request({ hooks: [hook] })).toMatchObject({ status: 202, body: '{"replaced":true}' });
    expect(await request()).toMatchObject({ status: 202, body: '{"replaced":true}', isReplayed: 'true' });
    expect(await names()).toEqual(['new']);
  });

  test('that fail do not undo the change, and its response stays', async () => {
    const error = new Error('no mail');
    expect(await thrown(request({ hooks: [() => Promise.reject(error)] }))).toBe(error);
    expect(await request()).toEqual(again);
    expect(await names()).toEqual(['new']);
  });
});

describe('the body of a response', () => {
  const tooLarge = { code: 'idempotency_answer_too_large', headers: { 'idempotency-replayed': 'true' } };
  const rows = (count: number) => Array.from({ length: count }, (_, i) => ['Gone', String(i)]);

  test.each<[string, number, object, object, boolean]>([
    ['as long as the limit', 100, { given: 'x'.repeat(98) }, {}, true],
    ['longer than the limit', 100, { given: 'x'.repeat(99) }, {}, false],
    ['with more bytes than the limit', 100, { given: 'ä'.repeat(50) }, {}, false],
    ['beyond what the caller may store', 100, {}, { callerLimit: 10 }, false],
    ['beyond what all may store', 100, {}, { totalLimit: 10 }, false],
  ])('%s is stored or not', async (_, __, options, limits, isStored) => {
    const limited = storeWith(limits);
    await request(options, limited);
    const next = await thrown(request(options, limited));
    if (isStored) expect(next.result.isReplayed).toBe('true');
    else expect(next).toMatchObject(tooLarge);
    expect(await names()).toEqual(['new']);
  });

  test('is not stored with more than 100 rows, because each is checked', async () => {
    for (const [key, returned, embedded, isStored] of [
      ['a', 60, 40, true],
      ['b', 60, 41, false],
    ] as const) {
      await request({ key, shown: { returned: rows(returned), embedded: rows(embedded) } });
      const [text] = (await kept()).slice(-1);
      expect('body' in JSON.parse(text)).toBe(isStored);
    }
  });

  test('has its rows and groups with it, and none without them', async () => {
    const shown = { returned: rows(2), embedded: rows(1), groups: 'some' };
    await request({ key: 'a', shown });
    await request({ key: 'b' });
    const [one, other] = (await kept()).map((text) => JSON.parse(text));
    expect(one).toEqual({ status: 201, headers: { 'x-own': 'kept' }, body: '{"id":1}', ...shown });
    expect(other).toEqual({ status: 201, headers: { 'x-own': 'kept' }, body: '{"id":1}' });
  });

  test('of one row can be rendered again, whatever its size', async () => {
    const entity = mapper.em.fork().create(Item, { id: 1, name: 'one' } as Any, { persist: false } as Any);
    const returned = [['Item', '1']];
    for (const [key, given, isRow] of [
      ['a', entity, true],
      ['b', new JsonReply(entity), true],
      ['c', new JsonReply(entity, { groups: ['own'] }), false],
      ['d', { id: 1 }, false],
    ] as const) {
      await request({ key, given, shown: { returned } }, storeWith({ answerLimit: 1 }));
      expect(JSON.parse((await kept()).at(-1))).toEqual({
        status: given instanceof JsonReply ? 200 : 201,
        headers: { 'x-own': 'kept' },
        ...(isRow && { returned, isRow }),
      });
    }
  });
});
