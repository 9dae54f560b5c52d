import { DatabaseSync } from 'node:sqlite';
import { defineEntity, type EntityProperty, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { Step } from '../../src/database/writer.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { CompositeKey, valuesOf } from '../../src/model/composite-key.ts';
import { pivotOf } from '../../src/query/rows/association.ts';
import type { QueryText } from '../../src/query/rows/bound-statement.ts';
import { rootTableAlias } from '../../src/query/rows/row-plan.ts';
import { versionColumns } from '../../src/query/rows/row-version.ts';
import { RowChanges } from '../../src/store/row-changes.ts';
import { RowLinks } from '../../src/store/row-links.ts';
import { memoryMapper, memoryWriter, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string(), open: p.boolean() } });
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    num: p.integer(),
    tag: () => p.manyToOne(Tag).nullable(),
    other: () => p.manyToOne(Tag).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
const Revised = defineEntity({
  name: 'Revised',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    num: p.integer(),
    revision: p.integer().version(),
    tags: () => p.manyToMany(Tag),
  },
});
const Pair = defineEntity({
  name: 'Pair',
  properties: {
    a: p.integer().primary(),
    b: p.integer().primary(),
    name: p.string(),
    tags: () => p.manyToMany(Tag),
    pairs: () => p.manyToMany(Pair),
  },
} as Any) as Any;
/** Its version changes when the database clears its reference. */
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    item: () => p.manyToOne(Item).nullable().deleteRule('set null'),
    revision: p.integer().version(),
  },
});

const mapper = await memoryMapper(Tag, Item, Revised, Pair, Note);
afterAll(() => mapper.close());
const metaIn = (name: string) => metaNamed(mapper, name);

const database = new DatabaseSync(':memory:');
afterAll(() => database.close());
database.exec(`pragma foreign_keys = on;
  create table tag (id integer primary key, name text, open integer);
  create table item (id integer primary key, name text, num integer, tag_id integer references tag (id), other_id integer references tag (id));
  create table item_tags (item_id integer references item (id) on delete cascade, tag_id integer references tag (id), primary key (item_id, tag_id));
  create table revised (id integer primary key, name text, num integer, revision integer default 1);
  create table revised_tags (revised_id integer, tag_id integer references tag (id), primary key (revised_id, tag_id));
  create table pair (a integer, b integer, name text, primary key (a, b));
  create table pair_tags (pair_a integer, pair_b integer, tag_id integer, primary key (pair_a, pair_b, tag_id));
  create table pair_pairs (pair_1_a integer, pair_1_b integer, pair_2_a integer, pair_2_b integer, primary key (pair_1_a, pair_1_b, pair_2_a, pair_2_b));
  create table note (id integer primary key, item_id integer references item (id) on delete set null, revision integer);`);
const rowsOf = (sql: string): Any[] => database.prepare(sql).all();

/** The numbers of statements that changes have sent. */
let sent: number[] = [];
const writer = memoryWriter(database, (steps) => sent.push(steps.length));
const step = (text: string, parameters: readonly unknown[]) => ({ statement: { text }, parameters });
const readOf = (table: string): Any => ({
  keyParameters: (id: unknown) => valuesOf(id),
  afterwards: ({ params, sql }: QueryText) => [step(`${sql} returning *`, params)],
  byKey: (id: unknown) =>
    step(`select * from ${table} where ${table === 'pair' ? 'a = ?1 and b = ?2' : 'id = ?1'}`, valuesOf(id)),
});
const changesOf = (name: string) =>
  new RowChanges(
    mapper,
    metaIn(name),
    { read: readOf(name.toLowerCase()), sort: [{ path: ['name'], direction: 'asc' }] } as Any,
    writer,
  );
const [item, revised, pair] = ['Item', 'Revised', 'Pair'].map(changesOf) as [RowChanges, RowChanges, RowChanges];

const reading: Any = 'reading';
const none = new Map();
const column = (name: string, value: unknown, type = 'text'): Any => ({ column: `"${name}"`, value, type, refersTo: null });
const tagged = (id: number, name = 'tag_id'): Any => ({
  ...column(name, id, 'integer'),
  refersTo: { table: '"tag"', key: '"id"', id },
});
/** Rows of tags that a caller sees: those with a name. */
const seenTags = (name: string): Any => [
  {
    from: '"tag" as "t"',
    keys: ['"t"."id"'],
    condition: { key: name, pieces: ['"t"."name" = ', ''], casts: [''], params: [name] },
  },
];
const condition = (restriction: unknown = null, version: unknown[] | null = null): Any => ({
  restriction,
  version,
  em: () => mapper.em.fork(),
});
const versionOf = (name: string, id = 1): unknown[] => {
  const columns = versionColumns(mapper, metaIn(name), 'e').map((sql, i) => `${sql} as v${i}`);
  return Object.values(rowsOf(`select ${columns.join()} from ${name.toLowerCase()} as e where id = ${id}`)[0]);
};
const query = (name: string): Any => mapper.em.fork().createQueryBuilder(name as Any, rootTableAlias);

beforeEach(() => {
  sent = [];
  database.exec(`delete from note; delete from item_tags; delete from revised_tags; delete from item; delete from revised; delete from pair; delete from pair_tags; delete from pair_pairs; delete from tag;
    insert into tag values (1, 'red', 1), (2, 'blue', 0);
    insert into item values (1, 'one', 1, null, null), (2, 'two', 2, 1, null), (3, 'three', 3, 2, null);
    insert into revised values (1, 'one', 1, 1), (2, 'two', 2, 1);
    insert into pair values (1, 1, 'one'), (1, 2, 'two'), (2, 1, 'three');
    insert into note values (1, 1, 1), (2, 2, 1);
    insert into item_tags values (1, 1); insert into revised_tags values (1, 1);`);
});

/** The conditions that the first row fulfils, and those that it does not. */
const conditions = (name: string): [string, () => Any, boolean][] => [
  ['no condition', () => condition(), true],
  ['its version', () => condition(null, versionOf(name)), true],
  ['the version of another row', () => condition(null, versionOf(name, 2)), false],
  ['its version, whatever the restriction', () => condition(query(name).where({ num: 99 }), versionOf(name)), true],
  ['a restriction that includes it', () => condition(query(name).where({ num: { $lt: 2 }, name: 'one' })), true],
  ['a restriction without conditions', () => condition(query(name)), true],
  ['a restriction that excludes it', () => condition(query(name).where({ num: { $gt: 1 } })), false],
  ['a list of values that includes it', () => condition(query(name).where({ name: { $in: ['one', 'x'] } })), true],
  ['a list of values that excludes it', () => condition(query(name).where({ name: { $in: ['two', 'x'] } })), false],
  ['a limit that includes it', () => condition(query(name).orderBy({ num: 'asc' }).limit(1)), true],
  ['a limit that excludes it', () => condition(query(name).orderBy({ num: 'desc' }).limit(1)), false],
];

describe.each(['Item', 'Revised'])('a row of %s', (name) => {
  const changes = name === 'Item' ? item : revised;
  const table = name.toLowerCase();
  const all = () => rowsOf(`select id, name, num from ${table}`);

  test.each(conditions(name))('is changed and removed with %s only if it fulfils that', async (_, conditionFor, isFulfilled) => {
    const before = all();
    const columns = [column('name', 'new'), column('num', 7, 'integer')];
    const row = await changes.update(1, columns, conditionFor(), reading, none);
    const changed = before.map((each) => (each.id === 1 ? { ...each, name: 'new', num: 7 } : each));
    expect([row?.slice(0, 3), all()]).toEqual(isFulfilled ? [[1, 'new', 7], changed] : [undefined, before]);
    database.exec(`update ${table} set name = 'one', num = 1${name === 'Revised' ? ', revision = 1' : ''} where id = 1`);
    expect(await changes.remove(1, conditionFor())).toBe(isFulfilled);
    expect(all()).toEqual(isFulfilled ? before.slice(1) : before);
    expect(await changes.remove(9, condition())).toBe(false);
  });

  test.each(conditions(name))('gets and loses a link with %s only if it fulfils that', async (_, conditionFor, isFulfilled) => {
    const property = (metaIn(name).relations as EntityProperty[]).find((each) => each.name === 'tags') as EntityProperty;
    const pivot = pivotOf(mapper, property);
    const links = new RowLinks(mapper, metaIn('Tag'), pivot, { items: readOf('tag'), owners: changes, writer });
    expect(links.table).toBe(pivot.table);
    const pairs = () => rowsOf(`select * from ${table}_tags order by 1, 2`).map((each) => Object.values(each));
    const change = (what: 'add' | 'remove', tag: number, seen: Any = 'all') =>
      links.change(what, 1, tag, conditionFor(), reading, seen);
    const red = [1, 'red', 1];
    const revision = () => (name === 'Revised' ? rowsOf('select revision from revised where id = 1')[0].revision : null);
    const first = revision();
    // what is there already changes nothing, not even the version
    expect([await change('add', 1), pairs(), revision()]).toEqual([isFulfilled ? red : undefined, [[1, 1]], first]);
    expect(await change('remove', 1, seenTags('blue'))).toBeUndefined();
    expect(pairs()).toEqual([[1, 1]]);
    expect(await change('remove', 1, seenTags('red'))).toEqual(isFulfilled ? red : undefined);
    expect(pairs()).toEqual(isFulfilled ? [] : [[1, 1]]);
    if (name === 'Item' && isFulfilled) {
      expect(await change('add', 2)).toEqual([2, 'blue', 0]);
      expect(await change('add', 9)).toBeUndefined();
      expect(pairs()).toEqual([[1, 2]]);
    }
    if (name === 'Revised') expect(revision()).toBe(isFulfilled ? 2 : 1);
  });
});

test('a row with a version gets the next one if a value differs', async () => {
  const revisions = () => rowsOf('select revision from revised order by id').map(({ revision }) => revision);
  await revised.update(1, [column('name', 'one'), column('num', 1, 'integer')], condition(), reading, none);
  expect(revisions()).toEqual([1, 1]);
  await revised.update(1, [column('name', 'one'), column('num', 2, 'integer')], condition(), reading, none);
  expect(revisions()).toEqual([2, 1]);
});

test('the removal of a row gives a new version to those whose references the database clears', async () => {
  expect(await item.remove(1, condition(null, versionOf('Item', 2)))).toBe(false);
  expect(rowsOf('select * from note')).toEqual([1, 2].map((id) => ({ id, item_id: id, revision: 1 })));
  expect(await item.remove(1, condition())).toBe(true);
  expect(rowsOf('select * from note')).toEqual([
    { id: 1, item_id: null, revision: 2 },
    { id: 2, item_id: 2, revision: 1 },
  ]);
  expect(sent).toEqual([3, 3]);
});

describe('a reference', () => {
  const tagOf = (id: number) => rowsOf(`select tag_id from item where id = ${id}`)[0]?.tag_id;
  const seen = (name: string) => new Map([['"tag_id"', seenTags(name)]]);

  test.each<[string, number, Any, boolean]>([
    ['a row', 2, none, true],
    ['a missing row', 9, none, false],
    ['a row that the caller sees', 2, seen('blue'), true],
    ['a row that the caller does not see', 2, seen('red'), false],
  ])('to %s is written only if the row is there and visible', async (_, tag, rows, isWritten) => {
    const columns = [column('name', 'new'), tagged(tag), column('num', 5, 'integer')];
    const restricted = condition(query('Item').where({ name: 'one' }));
    const changed = await item.update(1, columns, restricted, reading, rows);
    expect([changed, tagOf(1)]).toEqual(isWritten ? [[1, 'new', 5, tag, null], tag] : [undefined, null]);
    const inserted = await item.insert([column('id', 4, 'integer'), ...columns], reading, rows);
    expect([inserted, tagOf(4)]).toEqual(isWritten ? [[4, 'new', 5, tag, null], tag] : [undefined, undefined]);
  });

  test('is checked like any other of the same body', async () => {
    const rows = new Map([...seen('blue'), ['"other_id"', seenTags('red')]]);
    for (const [tag, other, isWritten] of [
      [2, 1, true],
      [2, 2, false],
      [1, 1, false],
      [9, 1, false],
    ] as const) {
      const columns = [tagged(tag), tagged(other, 'other_id')];
      const changed = await item.update(3, columns, condition(), reading, rows);
      const inserted = await item.insert([column('id', 4, 'integer'), ...columns], reading, rows);
      expect([changed, inserted]).toEqual(
        isWritten
          ? [
              [3, 'three', 3, tag, other],
              [4, null, null, tag, other],
            ]
          : [undefined, undefined],
      );
    }
  });

  test('can be cleared, and a row can be inserted without one', async () => {
    await item.update(2, [column('tag_id', null, 'integer')], condition(), reading, none);
    expect(tagOf(2)).toBeNull();
    expect(await item.insert([column('id', 4, 'integer'), column('name', 'new')], reading, none)).toEqual([
      4,
      'new',
      null,
      null,
      null,
    ]);
  });
});

test('a row with a composite key is changed and removed by all of its parts', async () => {
  const key = CompositeKey.of(1, 2);
  expect(await pair.update(key, [column('name', 'new')], condition(query('Pair').where({ name: 'two' })), reading, none)).toEqual(
    [1, 2, 'new'],
  );
  expect(await pair.remove(key, condition(query('Pair').orderBy({ name: 'asc' }).limit(1)))).toBe(true);
  expect(rowsOf('select * from pair').map((each) => Object.values(each))).toEqual([
    [1, 1, 'one'],
    [2, 1, 'three'],
  ]);
});

test('rows with composite keys are linked by all of their parts', async () => {
  const linksOf = (property: string, target: string) => {
    const pivot = pivotOf(mapper, metaIn('Pair').properties[property as never] as Any);
    return new RowLinks(mapper, metaIn(target), pivot, { items: readOf(target.toLowerCase()), owners: pair, writer });
  };
  const rowsIn = (table: string) => rowsOf(`select * from ${table}`).map((each) => Object.values(each));
  const owner = CompositeKey.of(1, 2);
  const tags = linksOf('tags', 'Tag');
  expect(await tags.change('add', owner, 2, condition(), reading, seenTags('blue'))).toEqual([2, 'blue', 0]);
  expect(rowsIn('pair_tags')).toEqual([[1, 2, 2]]);
  expect(await tags.change('remove', CompositeKey.of(1, 1), 2, condition(), reading, 'all')).toEqual([2, 'blue', 0]);
  expect(rowsIn('pair_tags')).toEqual([[1, 2, 2]]);
  expect(await tags.change('remove', owner, 2, condition(), reading, 'all')).toEqual([2, 'blue', 0]);
  expect(rowsIn('pair_tags')).toEqual([]);
  const pairs = linksOf('pairs', 'Pair');
  const item = CompositeKey.of(2, 1);
  expect(await pairs.change('add', owner, item, condition(), reading, 'all')).toEqual([2, 1, 'three']);
  expect(rowsIn('pair_pairs')).toEqual([[1, 2, 2, 1]]);
  await pairs.change('remove', owner, CompositeKey.of(1, 1), condition(), reading, 'all');
  expect(rowsIn('pair_pairs')).toEqual([[1, 2, 2, 1]]);
  await pairs.change('remove', owner, item, condition(), reading, 'all');
  expect(rowsIn('pair_pairs')).toEqual([]);
});

describe('on PostgreSQL', () => {
  let other: Awaited<ReturnType<typeof createMapper>>;
  beforeAll(async () => {
    const database = { url: 'postgresql://nobody@127.0.0.1:1/none', statementTimeout: 0, replicas: [] as unknown };
    other = await createMapper(database as DatabaseDeclaration, {
      entities: [Tag, Item, Revised, Pair, Note] as Any,
      directory: '.',
    });
  });
  afterAll(() => other.close());
  const meta = (name: string) => metaNamed(other, name);
  const steps: Any[] = [];
  const noting: Any = {
    change: async (given: Step[]) => {
      steps.splice(0, steps.length, ...given);
      return [['row']];
    },
  };
  const items: Any = {
    ...readOf('item'),
    isWide: true,
    reading: (where: string[], ...given: unknown[]) => {
      expect(given).toEqual([3, reading]);
      return { sql: `select items where ${where.join(' and ')}`, params: ['shown'] };
    },
  };
  const changesOn = (name: string) => new RowChanges(other, meta(name), { read: items, sort: [] } as Any, noting);

  test.each([
    [
      'add',
      /_change as \(insert into "item_tags" .* from _owner as o, "tag" as i where i."id" = \$2 on conflict .* do nothing\)/,
    ],
    ['remove', /_change as \(delete from "item_tags" where .* in \(select key0 from _owner\) and "tag_id" = \$2\)/],
  ] as const)('one statement locks the owner, changes the link and reads the item: %s', async (what, change) => {
    const pivot = pivotOf(other, meta('Item').properties['tags' as never] as Any);
    const links = new RowLinks(other, meta('Tag'), pivot, { items, owners: changesOn('Item'), writer: noting });
    const plain = { ...condition(null, [5]), em: () => other.em.fork() };
    expect(await links.change(what, 1, 2, plain, reading, 'all')).toEqual(['row']);
    const [{ parameters, statement }] = steps;
    expect([steps.length, parameters.map(String), statement.wide]).toEqual([1, ['1', '2', '5', 'shown'], true]);
    expect(statement.text).toMatch(/^with _owner as \(select .* from "item" as e where .* for no key update.*\), _change as/);
    expect(statement.text).toMatch(change);
    expect(statement.text).toMatch(/ select items where e."id" = \$2 and exists \(select 1 from _owner\)$/);
  });

  test('a parameter that is used more than once, or outside of a column, has a type', async () => {
    const textOf = async (write: (changes: RowChanges) => unknown, name = 'Item') => {
      await write(changesOn(name));
      return steps[0].statement.text;
    };
    const columns = [column('name', 'new'), tagged(2)];
    expect(await textOf((it) => it.update(1, columns, condition(), reading, none))).toContain(
      'set "name" = $2, "tag_id" = $3::integer where',
    );
    expect(await textOf((it) => it.update(1, [column('name', 'new')], condition(), reading, none), 'Revised')).toContain(
      'set "name" = $2::text, "revision" = case when',
    );
    expect(await textOf((it) => it.insert([column('name', 'new')], reading, none))).toContain('values ($1::text)');
  });
});
