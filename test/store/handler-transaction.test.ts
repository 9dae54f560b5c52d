import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { nextTurn } from '../../src/event-loop.ts';
import { RowChanged, readVersion } from '../../src/query/rows/row-version.ts';
import { inHandlerTransaction, writingMethods } from '../../src/store/handler-transaction.ts';
import { RequestState } from '../../src/store/request-state.ts';
import { inTransaction } from '../../src/store/transaction.ts';
import { memoryMapper, metaNamed, withSyntax } from '../support/memory-mapper.ts';

type Any = any;

const Item: Any = defineEntity({ name: 'Item', properties: { id: p.integer().primary(), name: p.string() } });
const mapper = await memoryMapper(Item);
const meta = metaNamed(mapper, 'Item');
const execute = (sql: string): Promise<Any[]> => mapper.em.fork().execute(sql) as never;
const names = async () => (await execute('select name from item order by id')).map(({ name }) => name);

beforeAll(() => execute('create table item (id integer primary key, name text not null)'));
afterAll(() => mapper.close());
beforeEach(async () => {
  await execute('delete from item');
  await execute("insert into item values (1, 'one'), (2, 'two')");
});

const isFailure = (result: unknown) => result === 'failed';
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

interface Options {
  readonly key?: number;
  readonly version?: readonly unknown[] | null;
  readonly rereads?: boolean;
  /** Whether the row was read when access was checked. */
  readonly isRead?: boolean;
}

/** Runs a handler on the first row, with the version that was checked. */
async function run(handle: (em: Any) => unknown, { isRead = true, key = 1, rereads = false, version }: Options = {}) {
  const state = new RequestState({} as Any, mapper);
  const checked = version === undefined ? await readVersion(mapper, mapper.em.fork() as Any, meta, 1) : version;
  const admission: Any = { action: 'work', key, restriction: null, found: isRead ? { version: checked } : null };
  state.rereads = rereads;
  const { em } = state;
  try {
    return await inHandlerTransaction({ admission, isFailure, mapper, meta, state }, () => handle(em));
  } finally {
    expect(em.isInTransaction()).toBe(false);
    for (const method of [...writingMethods, 'execute', 'createQueryBuilder']) expect(Object.hasOwn(em, method)).toBe(false);
  }
}

const rename = (em: Any, name: string, id = 1) => em.nativeUpdate(Item, { id }, { name });

/** Every way to write, and the names after it. */
const writes: [string, (em: Any) => unknown, string[]][] = [
  ['flush', async (em) => em.assign(await em.findOne(Item, 1), { name: 'new' }) && em.flush(), ['new', 'two']],
  [
    'transactional',
    (em) => em.transactional(async (inner: Any) => inner.assign(await inner.findOne(Item, 1), { name: 'new' })),
    ['new', 'two'],
  ],
  [
    'begin and commit',
    async (em) => {
      await em.begin();
      await rename(em, 'new');
      await em.commit();
    },
    ['new', 'two'],
  ],
  ['insert', (em) => em.insert(Item, { id: 3, name: 'three' }), ['one', 'two', 'three']],
  ['insertMany', (em) => em.insertMany(Item, [{ id: 3, name: 'three' }]), ['one', 'two', 'three']],
  ['nativeDelete', (em) => em.nativeDelete(Item, { id: 2 }), ['one']],
  ['nativeUpdate', (em) => rename(em, 'new'), ['new', 'two']],
  ['upsert', (em) => em.upsert(Item, { id: 1, name: 'new' }), ['new', 'two']],
  ['upsertMany', (em) => em.upsertMany(Item, [{ id: 1, name: 'new' }]), ['new', 'two']],
  ['execute', (em) => em.execute("update item set name = 'new' where id = 1"), ['new', 'two']],
  [
    'a statement that names one that reads',
    (em) => em.execute("update item set name = 'select' where id = 1"),
    ['select', 'two'],
  ],
  ['a query builder', (em) => em.createQueryBuilder(Item).update({ name: 'new' }).where({ id: 1 }).execute(), ['new', 'two']],
];

describe.each(writes)('a handler that writes with %s', (_, write, after) => {
  test('does so in one transaction on the locked row, which is committed', async () => {
    const result = await run(async (em) => {
      expect(em.isInTransaction()).toBe(false);
      await write(em);
      expect(em.isInTransaction()).toBe(true);
      return 'done';
    });
    expect([result, await names()]).toEqual(['done', after]);
  });

  test('writes nothing if it fails', async () => {
    const work = async (em: Any) => {
      await write(em);
      return 'failed';
    };
    expect([await run(work), await names()]).toEqual(['failed', ['one', 'two']]);
    const error = new Error('broken');
    const breaking = async (em: Any) => {
      await write(em);
      throw error;
    };
    expect([await thrown(run(breaking)), await names()]).toEqual([error, ['one', 'two']]);
  });

  test('writes nothing if the row was changed since the check, even if the handler ignores that', async () => {
    for (const catches of [true, false]) {
      const work = async (em: Any) => {
        const error = await thrown((async () => write(em))());
        expect(error).toBeInstanceOf(RowChanged);
        if (!catches) throw error;
        return 'done';
      };
      expect(await thrown(run(work, { version: [1, 'other'] }))).toBeInstanceOf(RowChanged);
      expect(await names()).toEqual(['one', 'two']);
    }
  });
});

test('a handler that only reads begins no transaction', async () => {
  const reads: ((em: Any) => unknown)[] = [
    (em) => em.findOne(Item, 1),
    (em) => em.execute('select 1'),
    (em) => em.execute('\n  EXPLAIN select 1'),
    (em) => em.execute('pragma user_version'),
    (em) => em.createQueryBuilder(Item).select('*').execute(),
    (em) => em.createQueryBuilder(Item).count().execute(),
  ];
  for (const read of reads) {
    const work = async (em: Any) => {
      await read(em);
      expect(em.isInTransaction()).toBe(false);
      return 'done';
    };
    // not even if its row has changed
    expect(await run(work, { version: [1, 'other'] })).toBe('done');
  }
  expect(await run(() => 'failed')).toBe('failed');
});

test('a row that is gone returns 404 from the first write', async () => {
  const error = await thrown(run((em) => rename(em, 'new', 2), { key: 9 }));
  expect([error.code, error.message]).toEqual(['entity_not_found', 'no item has this id']);
  expect(await names()).toEqual(['one', 'two']);
});

test('a handler that rereads the row, or whose row was not checked, decides itself', async () => {
  await run((em) => rename(em, 'first'), { version: [1, 'other'], rereads: true });
  await run((em) => rename(em, 'again', 2), { version: null });
  await run((em) => rename(em, 'second', 2), { isRead: false });
  expect(await names()).toEqual(['first', 'second']);
});

test('writes at the same time run one after another, and writes within them at once', async () => {
  const order: string[] = [];
  await run(async (em) => {
    const item = await em.findOne(Item, 1);
    await Promise.all([
      em.transactional(async () => {
        order.push('begun');
        item.name = 'new';
        await em.flush();
        order.push('flushed');
      }),
      thrown(em.insert(Item, { id: 1, name: 'same key' })).then((error) => order.push(error ? 'failed' : 'inserted')),
      em.insert(Item, { id: 3, name: 'three' }).then(() => order.push('inserted')),
    ]);
  });
  expect([...order].sort()).toEqual(['begun', 'failed', 'flushed', 'inserted']);
  expect(await names()).toEqual(['new', 'two', 'three']);
});

test('one write runs at a time', async () => {
  const running: string[] = [];
  const started: string[] = [];
  for (const method of ['insert', 'nativeUpdate'] as const) {
    const prototype = Object.getPrototypeOf(mapper.em.fork()) as Any;
    const write = prototype[method];
    vi.spyOn(prototype, method).mockImplementation(async function (this: unknown, ...given: unknown[]) {
      expect(running).toEqual([]);
      running.push(method);
      started.push(method);
      await nextTurn();
      await write.apply(this, given);
      running.pop();
    });
  }
  await run((em) => Promise.all([em.insert(Item, { id: 3, name: 'three' }), rename(em, 'new'), rename(em, 'newer', 3)]));
  vi.restoreAllMocks();
  expect(started).toEqual(['insert', 'nativeUpdate', 'nativeUpdate']);
  expect(await names()).toEqual(['new', 'two', 'newer']);
});

test('a transactional() can wait for a write that starts after it', async () => {
  await run(async (em) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await Promise.all([em.transactional(() => promise), rename(em, 'new').then(resolve)]);
  });
  expect(await names()).toEqual(['new', 'two']);
});

test('the first write locks the row, once', async () => {
  const rowLock = vi.fn(() => '');
  const work = async (em: Any) => {
    await em.findOne(Item, 1);
    expect(rowLock).not.toHaveBeenCalled();
    await rename(em, 'new');
    await rename(em, 'newer');
    expect(rowLock).toHaveBeenCalledOnce();
  };
  await withSyntax(mapper, { rowLock }, () => run(work));
});

test('a write through another connection is rejected while the transaction is open, and waits for nobody before', async () => {
  await run(async (em) => {
    await execute("update item set name = 'before' where id = 2");
    await rename(em, 'new');
    const error = await thrown(execute("update item set name = 'after' where id = 2"));
    expect(error.message).toContain('this code waits for its own transaction');
  });
  expect(await names()).toEqual(['new', 'before']);
});

test('a handler that fails after a rejected write fails for its own reason', async () => {
  const version = [1, 'other'];
  const error = new Error('broken');
  const breaking = async (em: Any) => {
    await thrown(rename(em, 'new'));
    throw error;
  };
  expect(await thrown(run(breaking, { version }))).toBe(error);
  expect(await run((em) => thrown(rename(em, 'new')).then(() => 'failed'), { version })).toBe('failed');
  expect(await names()).toEqual(['one', 'two']);
});

test('a write that the handler does not wait for is part of the transaction', async () => {
  await run((em) => {
    void rename(em, 'new');
    return 'done';
  });
  expect(await names()).toEqual(['new', 'two']);
});

describe('within a transaction around the request', () => {
  async function runWithin(version: readonly unknown[], handle: (em: Any) => unknown) {
    const state = new RequestState({} as Any, mapper);
    const admission: Any = { action: 'work', key: 1, restriction: null, found: { version } };
    return inTransaction(state.em, async () => {
      const result = await inHandlerTransaction({ admission, isFailure, mapper, meta, state }, () => handle(state.em));
      expect(state.em.isInTransaction()).toBe(true);
      return result;
    });
  }

  test('the row is locked first, and the handler takes part in that transaction', async () => {
    expect(await runWithin([1, 'one'], (em) => rename(em, 'new').then(() => 'failed'))).toBe('failed');
    expect(await names()).toEqual(['new', 'two']);
  });

  test('the handler does not run if the row has changed', async () => {
    let calls = 0;
    expect(await thrown(runWithin([1, 'other'], () => calls++))).toBeInstanceOf(RowChanged);
    expect(calls).toBe(0);
  });
});
