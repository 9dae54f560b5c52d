import { DatabaseSync } from 'node:sqlite';
import { defineEntity, type EntityProperty, p } from '@mikro-orm/core';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { TooLargeError } from '../../src/database/too-large.ts';
import type { Step } from '../../src/database/writer.ts';
import { dialectOf } from '../../src/dialect/dialect.ts';
import { pivotOf } from '../../src/query/rows/association.ts';
import { rootTableAlias } from '../../src/query/rows/row-plan.ts';
import { RowChanges } from '../../src/store/row-changes.ts';
import { RowLists } from '../../src/store/row-lists.ts';
import { memoryMapper, memoryWriter, metaNamed, withSyntax } from '../support/memory-mapper.ts';

type Any = any;

const Member = defineEntity({ name: 'Member', properties: { id: p.integer().primary(), name: p.string() } });
const associations = { members: () => p.manyToMany(Member), guests: () => p.manyToMany(Member) };
const Team = defineEntity({ name: 'Team', properties: { id: p.integer().primary(), name: p.string(), ...associations } });
const Club = defineEntity({
  name: 'Club',
  properties: { id: p.integer().primary(), name: p.string(), revision: p.integer().version(), ...associations },
});
const mapper = await memoryMapper(Member, Team, Club);
const database = new DatabaseSync(':memory:');
afterAll(() => {
  database.close();
  return mapper.close();
});
const tables = ['team', 'club'];
database.exec('create table member (id integer primary key, name text)');
for (const table of tables)
  database.exec(`create table ${table} (id integer primary key, name text check (name <> 'bad'), revision integer default 1);
    create table ${table}_members (${table}_id integer, member_id integer, primary key (${table}_id, member_id));
    create table ${table}_guests (${table}_id integer, member_id integer, primary key (${table}_id, member_id))`);

let stored: (readonly Step[])[] = [];
beforeEach(() => {
  stored = [];
  database.exec("delete from member; insert into member values (1, 'one'), (2, 'two'), (3, 'three')");
  for (const table of tables)
    database.exec(`delete from ${table}; delete from ${table}_members; delete from ${table}_guests;
      insert into ${table} (id, name) values (1, 'first'), (2, 'second');
      insert into ${table}_members values (1, 1), (1, 2), (2, 1); insert into ${table}_guests values (1, 3)`);
});

const rowsOf = (sql: string): unknown[][] =>
  database
    .prepare(sql)
    .all()
    .map((row) => Object.values(row));
const linksIn = (table: string) => rowsOf(`select ${table.split('_')[0]}_id, member_id from ${table} order by 1, 2`);
const rowOf = (table: string) => rowsOf(`select name, revision from ${table} where id = 1`)[0];

const writer = memoryWriter(database, (steps) => stored.push(steps));
/** What the last statement selects. */
let selected = 'id, name';
const rowsIn = (table: string): Any => ({
  readingWithVisibility: async () => ({ as: 'the caller' }),
  foundRow: (_: unknown, row: unknown[], reading: unknown) => ({ row, reading }),
  sort: [],
  read: {
    keyParameters: (key: unknown) => [key],
    byKey: (key: unknown) => ({ statement: { text: `select ${selected} from ${table} where id = ?` }, parameters: [key] }),
  },
});
const parseId = (value: unknown) => (typeof value === 'number' ? value : undefined);
const plain: Any = {
  read: (rest: Any, kind: string) => {
    expect([kind, Object.keys(rest).length > 0]).toEqual(['patch', true]);
    if (rest.unknown) return null;
    return Object.entries(rest).map(([name, value]) => ({
      column: `\`${name}\``,
      value,
      type: 'text',
      refersTo: name === 'captain' ? { id: value } : null,
    }));
  },
};

/** No condition says which rows the caller may refer to. */
const seenReferences = async (_: unknown, columns: readonly Any[]) =>
  columns.some(({ refersTo }) => refersTo) ? null : new Map();

/** Changes the first row, and returns what is found then. */
async function change(model: 'Team' | 'Club', body: object, restriction: unknown = null): Promise<Any> {
  const meta = metaNamed(mapper, model);
  const rows = rowsIn(model.toLowerCase());
  const lists = new Map(
    ['members', 'guests'].map((name) => {
      const property = (meta.relations as EntityProperty[]).find((each) => each.name === name) as EntityProperty;
      return [
        name,
        { name, unseen: false, target: metaNamed(mapper, 'Member'), pivot: pivotOf(mapper, property), parseId } as Any,
      ];
    }),
  );
  const changes = new RowChanges(mapper, meta, rows, writer);
  const condition: Any = { restriction, version: null, em: () => mapper.em.fork() };
  const made = new RowLists({ mapper, meta, lists, writer, mostBytes: 1000 });
  return made.change({ body } as Any, { key: 1 } as Any, plain, condition, { changes, rows, mode: 'patch', seenReferences });
}
const refs = (...ids: number[]) => ids.map((id) => ({ id }));
const first = [
  [1, 1],
  [1, 2],
  [2, 1],
];

describe.each(['Team', 'Club'] as const)('a list of a %s', (model) => {
  const table = model.toLowerCase();
  const version = (changes: number) => 1 + (model === 'Club' ? changes : 0);

  test.each([
    ['other items', [2, 3], 1],
    ['further items', [1, 2, 3], 1],
    ['fewer items', [2], 1],
    ['an item twice', [3, 3], 1],
    ['no items', [], 1],
    ['the same items', [2, 1], 0],
  ])('that gets %s has those, and the row has a new version if a link changed', async (_, ids, changes) => {
    const found = await change(model, { members: refs(...ids) });
    expect(found).toEqual({ row: [1, 'first'], reading: { as: 'the caller', mostBytes: 1000 } });
    const links = [...new Set(ids)].sort().map((id) => [1, id]);
    expect([linksIn(`${table}_members`), linksIn(`${table}_guests`)]).toEqual([[...links, [2, 1]], [[1, 3]]]);
    expect(rowOf(table)).toEqual(['first', version(changes)]);
  });

  test('is written with another list and the columns of the body', async () => {
    const found = await change(model, { guests: refs(1), name: 'new', members: [] });
    expect(found.row).toEqual([1, 'new']);
    expect([linksIn(`${table}_members`), linksIn(`${table}_guests`)]).toEqual([[[2, 1]], [[1, 1]]]);
    expect(rowOf(table)).toEqual(['new', version(1)]);
    await change(model, { guests: refs(1), name: 'newer' });
    expect(rowOf(table)).toEqual(['newer', version(2)]);
    // a change of the first list alone
    await change(model, { guests: [], members: [] });
    expect(rowOf(table)).toEqual(['newer', version(3)]);
  });

  test.each([
    ['an item is missing', { guests: refs(1), members: refs(1, 9), name: 'new' }],
    ['all items are missing', { members: refs(9) }],
    ['an item is no reference', { members: [1] }],
    ['it is not a list', { members: { id: 1 } }],
    ['the body has more than columns and lists', { members: [], unknown: true }],
    ['no condition says which rows the body may refer to', { members: [], captain: 1 }],
    ['the body has columns only', { name: 'new' }],
  ])('is not written if %s', async (_, body) => {
    expect(await change(model, body)).toBeNull();
    expect([linksIn(`${table}_members`), linksIn(`${table}_guests`), rowOf(table)]).toEqual([first, [[1, 3]], ['first', 1]]);
  });

  test('is written only if the row passes the restriction', async () => {
    const query = (name: string): Any =>
      mapper.em
        .fork()
        .createQueryBuilder(model as Any, rootTableAlias)
        .where({ name } as Any);
    expect(await change(model, { members: refs(3) }, query('second'))).toBeNull();
    expect(linksIn(`${table}_members`)).toEqual(first);
    expect(await change(model, { members: refs(3) }, query('first'))).not.toBeNull();
    expect(linksIn(`${table}_members`)).toContainEqual([1, 3]);
  });

  test('is not written if a column cannot be', async () => {
    await expect(change(model, { members: [], name: 'bad' })).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR' });
    expect([linksIn(`${table}_members`), rowOf(table)]).toEqual([first, ['first', 1]]);
  });
});

test('a list without items takes one statement, and the version is set by a typed parameter', async () => {
  await change('Team', { members: [] });
  // the row, the links, and the response
  expect(stored[0]).toHaveLength(3);
  const typedParameter = (position: number, type: string) => `?${position} /* ${type} */`;
  await withSyntax(mapper, { typedParameter }, () => change('Club', { members: [], name: 'new' }));
  const texts = (stored[1] as readonly Step[]).map(({ statement }) => statement.text);
  expect(texts[2]).toMatch(/\?\d \/\* text \*\/.*\?\d \/\* int \*\/ = 1/);
  expect(texts.filter((text) => text.includes('undefined'))).toEqual([]);
});

test('the items are locked before links to them are written, and the change may take long', async () => {
  await withSyntax(mapper, { keyLock: ' /* key */' }, () => change('Team', { members: refs(1, 3) }));
  const [owner, items, ...others] = stored[0] as readonly Step[];
  expect(owner?.mayTakeLong).toBe(true);
  expect(items?.statement.text).toMatch(/^select .* from `member` .*\/\* key \*\//);
  expect(others.some(({ statement }) => statement.text.includes('/* key */'))).toBe(false);
});

test('nothing is written if the response is too large', async () => {
  selected = `${dialectOf(mapper).sql.failsBeyond('2', 1)}, name`;
  await expect(change('Team', { members: [] })).rejects.toBeInstanceOf(TooLargeError);
  selected = 'id, name';
  expect(linksIn('team_members')).toEqual(first);
});
