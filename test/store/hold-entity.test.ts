import { defineEntity, type EntityMetadata, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { readVersion } from '../../src/query/rows/row-version.ts';
import { rereadEntity } from '../../src/store/hold-entity.ts';

type Any = any;

const Item: Any = defineEntity({
  name: 'Item',
  properties: { id: p.integer().primary(), name: p.string(), size: p.bigint().nullable(), data: p.json().nullable() },
  filters: { named: { name: 'named', cond: { name: 'one' }, default: false } },
} as Any);
const mapper = await createMapper({ url: 'sqlite::memory:', statementTimeout: 0 } as DatabaseDeclaration, {
  entities: [Item],
  directory: '.',
});
const [meta] = [...mapper.getMetadata().getAll().values()] as [EntityMetadata];
const fork = (): Any => mapper.em.fork();

beforeAll(() => fork().execute('create table item (id integer primary key, name text, size integer, data json)'));
afterAll(() => mapper.close());
beforeEach(async () => {
  await fork().execute('delete from item');
  await fork().execute("insert into item values (1, 'one', 9007199254740993, '{\"a\":[1]}')");
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

test.each(["name = 'new'", 'size = 9007199254740992', 'size = null', 'data = \'{"a":[2]}\''])(
  'an entity gets the values that its row has now: %s',
  async (change) => {
    const [em, item] = await found();
    await fork().execute(`update item set ${change}`);
    const { isChanged, version } = (await rereadEntity(mapper, em, item, false)) as Any;
    expect([isChanged, version]).toEqual([true, await readVersion(mapper, fork(), meta, 1)]);
    const [, now] = await found();
    expect([item.name, item.size, item.data]).toEqual([now.name, now.size, now.data]);
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
