import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { readVersion } from '../../src/query/rows/row-version.ts';
import { rereadEntity } from '../../src/store/hold-entity.ts';
import { memoryMapper, metaNamed, withSyntax } from '../support/memory-mapper.ts';

type Any = any;

const Item: Any = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    size: p.bigint().nullable(),
    data: p.json().nullable(),
    file: p.blob().nullable(),
    at: p.datetime().nullable(),
  },
  filters: { named: { name: 'named', cond: { name: 'one' }, default: false } },
} as Any);
const mapper = await memoryMapper(Item);
const meta = metaNamed(mapper, 'Item');
const fork = (): Any => mapper.em.fork();

beforeAll(() =>
  fork().execute('create table item (id integer primary key, name text, size integer, data json, file blob, at integer)'),
);
afterAll(() => mapper.close());
beforeEach(async () => {
  await fork().execute('delete from item');
  await fork().execute("insert into item values (1, 'one', 9007199254740993, '{\"a\":[1]}', x'01', 1000)");
});

const found = async (): Promise<[Any, Any]> => {
  const em = fork();
  return [em, await em.findOneOrFail(Item, 1)];
};

test('an entity that did not change is the same after it was reread', async () => {
  const [em, item] = await found();
  const version = await readVersion(mapper, fork(), meta, 1);
  for (const lock of [true, false]) expect(await rereadEntity(mapper, em, item, lock)).toEqual({ version, isChanged: false });
  expect(item.name).toBe('one');
});

test('an entity that the request has written is the same after that', async () => {
  const em = fork();
  const values = { name: 'two', size: 2n ** 60n, data: { b: 1 }, file: Buffer.from([3]), at: new Date(5000) };
  const item = em.create(Item, { id: 2, ...values });
  await em.flush();
  expect(await rereadEntity(mapper, em, item, false)).toMatchObject({ isChanged: false });
  item.name = 'three';
  await em.flush();
  expect(await rereadEntity(mapper, em, item, false)).toMatchObject({ isChanged: false });
});

test('the row is locked if that is wanted', async () => {
  const rowLock = vi.fn(() => '');
  const [em, item] = await found();
  await withSyntax(mapper, { rowLock }, async () => {
    await rereadEntity(mapper, em, item, false);
    expect(rowLock).not.toHaveBeenCalled();
    await rereadEntity(mapper, em, item, true);
    expect(rowLock).toHaveBeenCalledOnce();
  });
});

test.each(["name = 'new'", 'size = 9007199254740992', 'size = null', 'data = \'{"a":[2]}\'', "file = x'02'", 'at = 2000'])(
  'an entity gets the values that its row has now: %s',
  async (change) => {
    const [em, item] = await found();
    await fork().execute(`update item set ${change}`);
    const { isChanged, version } = (await rereadEntity(mapper, em, item, false)) as Any;
    expect([isChanged, version]).toEqual([true, await readVersion(mapper, fork(), meta, 1)]);
    const [, now] = await found();
    expect({ ...item }).toEqual({ ...now });
  },
);

test('changes of the entity are not written, and are lost', async () => {
  const [em, item] = await found();
  item.name = 'new';
  expect(await rereadEntity(mapper, em, item, false)).toMatchObject({ isChanged: false });
  expect([item.name, (await found())[1].name]).toEqual(['one', 'one']);
});

test('an entity without a row, or of another entity manager, is not reread', async () => {
  const [em, item] = await found();
  expect(await rereadEntity(mapper, fork(), item, false)).toBeNull();
  await fork().execute('delete from item');
  expect(await rereadEntity(mapper, em, item, false)).toBeNull();
});
