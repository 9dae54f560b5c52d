import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../src/actions/idempotency/byte-budget.ts';
import { keyedRequest } from '../../src/actions/idempotency/idempotency-key.ts';
import { KeyedMutex } from '../../src/actions/idempotency/keyed-mutex.ts';
import { Random, seed } from '../support/random.ts';

type Any = any;

describe('the key of a request', () => {
  const user: Any = { id: 'anna', roles: [] };
  const requestOf = ({
    body = {},
    key = 'k',
    method = 'POST',
    names = ['Idempotency-Key'],
    url = '/item.json',
  }: Any = {}): Any => ({
    body,
    method,
    url,
    headers: { 'idempotency-key': key },
    // the value of another header may be its name
    raw: { rawHeaders: ['x-other', 'idempotency-key', ...names.flatMap((name: string) => [name, key])] },
  });
  const idOf = (options: object, by: Any = user) => keyedRequest(requestOf(options), by).id;

  test('is separate for each caller, and shared by those without a user', () => {
    const [one, same, other, anyone] = [user, { ...user }, { ...user, id: 'otto' }, null].map((by) =>
      keyedRequest(requestOf(), by),
    ) as [Any, Any, Any, Any];
    expect(one).toEqual(same);
    expect(new Set([one.id, other.id, anyone.id]).size).toBe(3);
    expect(new Set([one.caller, other.caller, anyone.caller]).size).toBe(3);
    expect(new Set([one.fingerprint, other.fingerprint, anyone.fingerprint]).size).toBe(1);
    for (const value of [one.id, one.caller, one.fingerprint]) expect(value).toMatch(/^[\w-]{43}$/);
    expect(one.id).not.toBe(idOf({ key: 'other' }));
  });

  test('can be a string as in structured fields', () => {
    expect(idOf({ key: '"k"' })).toBe(idOf({ key: 'k' }));
    expect(idOf({ key: String.raw`"a\"b\\c"` })).toBe(idOf({ key: String.raw`a"b\c` }));
    expect(idOf({ key: 'x'.repeat(255) })).not.toBe(idOf({ key: 'x'.repeat(254) }));
    expect(idOf({ key: ' ~' })).not.toBe(idOf({ key: '~' }));
  });

  test.each(['', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'ä', 'a\tb', 'a\n', '"a', '"a"b', '"a\\b"', '""', '"ä"', '"a"b"'])(
    'is rejected if it is malformed: %j',
    (key) => {
      expect(() => idOf({ key })).toThrow('must be 1 to 255 printable ASCII characters, optionally as a quoted string');
    },
  );

  test('must be sent once', () => {
    expect(() => idOf({ names: ['Idempotency-Key', 'idempotency-key'] })).toThrow('must be sent once');
  });

  test('belongs to one request: its method, path, query and body, whatever the order of fields', () => {
    const fingerprint = (options: object) => keyedRequest(requestOf(options), user).fingerprint;
    const body = { a: 1, b: { c: [1, { d: null, e: 'x' }], 2: true } };
    const same = { b: { 2: true, c: [1, { e: 'x', d: null }] }, a: 1 };
    expect(fingerprint({ body })).toBe(fingerprint({ body: same }));
    expect(fingerprint({ body, url: 'http://host/item.json' })).toBe(fingerprint({ body }));
    const others = [
      { body },
      { body, method: 'PUT' },
      { body, url: '/item.json?a=1' },
      { body, url: '/other.json' },
      { body: { ...body, a: 2 } },
      { body: { ...body, b: { ...body.b, c: [{ d: null, e: 'x' }, 1] } } },
      { body: [body] },
      { body: [] },
      { body: {} },
      { body: { entries: [] } },
      { body: [['a', 1]] },
      { body: { a: 1 } },
      { body: null },
      { body: 'text' },
    ];
    expect(new Set(others.map(fingerprint)).size).toBe(others.length);
  });
});

describe('a mutex', () => {
  const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  test.each([0, 5000])('gives a key to one at a time, in the order of requests, with the timeout %i', async (timeout) => {
    const mutex = new KeyedMutex(timeout);
    const order: number[] = [];
    let holders = 0;
    const enter = async (number: number) => {
      const end = await mutex.take('a');
      order.push(number);
      expect(++holders).toBe(1);
      await pause(2);
      holders--;
      end?.();
    };
    const entered = [enter(0), enter(1)];
    for (let number = 2; number < 6; number++) {
      await pause(number % 2);
      entered.push(enter(number));
    }
    expect(await mutex.take('b')).toBeTypeOf('function');
    await Promise.all(entered);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('stops waiting after the timeout, and those behind wait for the turn before', async () => {
    const mutex = new KeyedMutex(20);
    const first = await mutex.take('a');
    const late = mutex.take('a');
    expect(await late).toBeNull();
    const next = mutex.take('a');
    first?.();
    const end = await next;
    expect(end).toBeTypeOf('function');
    const behind = mutex.take('a');
    end?.();
    expect(await behind).toBeTypeOf('function');
  });

  test('leaves no timer behind, and forgets keys without requests', async () => {
    const set = vi.spyOn(Map.prototype, 'set');
    const before = timers();
    const mutex = new KeyedMutex(60_000);
    const first = await mutex.take('a');
    const second = mutex.take('a');
    const used = set.mock.contexts[set.mock.calls.findIndex(([key]) => key === 'a')] as Map<string, unknown>;
    set.mockRestore();
    first?.();
    const end = await second;
    expect([timers(), used.size]).toEqual([before, 1]);
    end?.();
    await pause(0);
    expect(used.size).toBe(0);
  });
});

describe('a budget of bytes', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('of one process is never exceeded, and is read from the database now and then', async () => {
    for (let number = 0; number < 50; number++) {
      const random = new Random(seed + number);
      const limit = 1 + random.below(400_000);
      const budget = new ByteBudget(limit);
      const stored = new Map<string, number>();
      const unread = new Map<string, number>();
      for (let turn = 0; turn < 60; turn++) {
        const name = random.of(['a', 'b']);
        const before = stored.get(name) ?? 0;
        const bytes = 1 + random.below(limit / 4);
        let reads = 0;
        const taken = await budget.take(name, bytes, async () => {
          reads++;
          return before;
        });
        expect(taken).toBe(before + bytes <= limit);
        const isDue = (unread.get(name) ?? 0) + bytes > Math.min(65_536, limit / 4);
        if (taken) expect(reads).toBe(isDue ? 1 : 0);
        if (reads > 0) unread.set(name, 0);
        if (taken) {
          stored.set(name, before + bytes);
          unread.set(name, (unread.get(name) ?? 0) + bytes);
        }
      }
    }
  });

  test('that is full is read again after a while, because responses expire', async () => {
    const budget = new ByteBudget(100);
    let stored = 0;
    let reads = 0;
    const read = async () => {
      reads++;
      return stored;
    };
    const take = async (bytes: number) => {
      const taken = await budget.take('a', bytes, read);
      if (taken) stored += bytes;
      return taken;
    };
    vi.advanceTimersByTime(50_000);
    expect([await take(60), await take(60)]).toEqual([true, false]);
    const before = reads;
    expect(before).toBe(1);
    stored = 0;
    vi.advanceTimersByTime(10_000);
    expect([await take(60), reads]).toEqual([false, before]);
    vi.advanceTimersByTime(1);
    expect([await take(60), reads]).toEqual([true, before + 1]);
    expect(await take(40)).toBe(true);
    expect(await take(1)).toBe(false);
  });

  test('is read before the last of it is taken, and not for the first quarter', async () => {
    const budget = new ByteBudget(100);
    let reads = 0;
    const take = (bytes: number, others: number) =>
      budget.take('a', bytes, async () => {
        reads++;
        return others;
      });
    expect([await take(25, 0), reads]).toEqual([true, 0]);
    // another process has stored five bytes since
    expect([await take(75, 30), reads]).toEqual([false, 1]);
    expect([await take(70, 30), reads]).toEqual([true, 2]);
  });

  test('counts what is taken while it is read', async () => {
    const budget = new ByteBudget(100);
    const { promise, resolve } = Promise.withResolvers<number>();
    const first = budget.take('a', 50, () => promise);
    const second = budget.take('a', 20, async () => 0);
    expect(await second).toBe(true);
    resolve(0);
    expect(await first).toBe(true);
    expect(await budget.take('a', 31, async () => 70)).toBe(false);
    expect(await budget.take('b', 100, async () => 0)).toBe(true);
  });
});
