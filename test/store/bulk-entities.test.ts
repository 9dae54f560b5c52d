import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Identifier } from '../../src/model/identifier.ts';
import { restrictedQuery } from '../../src/query/entities/restriction.ts';
import { BulkEntities } from '../../src/store/bulk-entities.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { memoryMapper, metaNamed, withSyntax } from '../support/memory-mapper.ts';

type Any = any;

const Item: Any = defineEntity({
  name: 'Item',
  properties: { id: p.integer().primary(), name: p.string().unique(), isOpen: p.boolean().default(true) },
} as Any);
const Note: Any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    item: () => (p.manyToOne(Item) as Any).nullable().deleteRule('set null'),
    revision: p.integer().version(),
  },
} as Any);
const Label: Any = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), item: () => (p.manyToOne(Item) as Any).deleteRule('restrict') },
} as Any);

const mapper = await memoryMapper(Item, Note, Label);
const meta = metaNamed(mapper, 'Item');
const execute = (sql: string): Promise<Any[]> => mapper.em.fork().execute(sql) as never;
const namesIn = async () => (await execute('select name from item order by id')).map(({ name }) => name);

beforeAll(async () => {
  for (const sql of [
    'pragma foreign_keys = on',
    'create table item (id integer primary key, name text not null unique, is_open integer not null default 1)',
    "create trigger trimmed after insert on item when new.name like '% ' begin update item set name = trim(name) where id = new.id; end",
    "create trigger cut after update on item when new.name like '% ' begin update item set name = trim(name) where id = new.id; end",
    'create table note (id integer primary key, item_id integer references item (id) on delete set null, revision integer not null default 1)',
    'create table label (id integer primary key, item_id integer references item (id) on delete restrict)',
  ])
    await execute(sql);
});
afterAll(() => mapper.close());

/** What happens before the commit: the entities that are announced, with their groups. */
let announced: [names: string[], groups: unknown][] = [];
let refusal: Error | null = null;
beforeEach(async () => {
  announced = [];
  refusal = null;
  for (const table of ['label', 'note', 'item']) await execute(`delete from ${table}`);
  await execute("insert into item values (1, 'one', 1), (2, 'two', 1), (3, 'three', 0)");
});

const executor: Any = {
  rows: async ({ text }: Any, params: unknown[]) =>
    ((await mapper.em.fork().execute(text.replaceAll(/\?\d+/g, '?'), params as never)) as unknown as object[]).map((row) =>
      Object.values(row),
    ),
};
const bulk = new BulkEntities(
  mapper,
  meta,
  [{ path: ['id'], direction: 'asc' }] as Any,
  executor,
  async (_, entities, groups) => {
    announced.push([entities.map(({ name }: Any) => name), groups]);
    // within the transaction: the rows are written
    if (refusal) throw refusal;
  },
);
const groups: Any = { read: ['all'], embedded: [], write: [] };
function requestOf(method: string) {
  const request: Any = { method, headers: {}, query: {} };
  const state = stateOf(request, mapper);
  state.groups = groups;
  return { request, em: state.em as Any, state };
}
const openOnly = (em: Any) =>
  restrictedQuery(
    () => em,
    meta,
    (query: Any) => query.andWhere({ isOpen: true }),
  );
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

const create = ({ em, request }: Any, ...names: string[]) =>
  bulk.create(request, async () => names.map((name) => em.create(Item, { name } as Any, { persist: false })));

describe('a list of new entities', () => {
  test('is returned as it is stored, after it was announced with the groups of the caller', async () => {
    const made = await create(requestOf('POST'), 'four ', 'five');
    expect(made.map(({ name }: Any) => name)).toEqual(['four', 'five']);
    expect(await namesIn()).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(announced).toEqual([[['four', 'five'], groups]]);
  });

  test('is not written if one item is not', async () => {
    const error = await thrown(create(requestOf('POST'), 'four', 'five', 'one'));
    expect([error.code, error.members.index]).toEqual(['conflict_unique', 2]);
    const other = new Error('cannot be made');
    expect(await thrown(bulk.create(requestOf('POST').request, () => Promise.reject(other)))).toBe(other);
    expect([await namesIn(), announced]).toEqual([['one', 'two', 'three'], []]);
  });

  test('is not written if the announcement fails', async () => {
    refusal = new Error('too large');
    expect(await thrown(create(requestOf('POST'), 'four'))).toBe(refusal);
    expect(await namesIn()).toEqual(['one', 'two', 'three']);
  });
});

describe('a list of changes', () => {
  const rename = (
    given: Any,
    names: Record<number, string>,
    options: { restriction?: Any; groupsAt?: Any; found?: Any } = {},
  ) => {
    const { found = [], groupsAt = () => groups, restriction = null } = options;
    return bulk.change(given.request, Object.keys(names).map(Number), restriction, groupsAt, async (rows) => {
      found.push(...rows.keys());
      return [...rows].map(([key, row]) => Object.assign(row.entity, { name: names[Number(key)] }));
    });
  };

  test('gets the rows as they are now, and is returned as it is stored', async () => {
    const given = requestOf('PATCH');
    const old = await given.em.findOne(Item, 1);
    await execute('update item set is_open = 0 where id = 1');
    const found: string[] = [];
    const changed = await rename(given, { 1: 'first ', 2: 'second' }, { found });
    expect(found).toEqual(['1', '2']);
    expect(changed.map(({ isOpen, name }: Any) => [name, isOpen])).toEqual([
      ['first', false],
      ['second', true],
    ]);
    expect(changed[0]).toBe(old);
    expect(await namesIn()).toEqual(['first', 'second', 'three']);
  });

  test('gets only rows that pass the restriction', async () => {
    const given = requestOf('PATCH');
    const found: string[] = [];
    await rename(given, { 1: 'first', 3: 'third' }, { restriction: await openOnly(given.em), found });
    expect([found, await namesIn()]).toEqual([['1'], ['first', 'two', 'three']]);
    await rename(requestOf('PATCH'), {}, { found });
    expect(found).toEqual(['1']);
  });

  test('is announced by the groups of its rows', async () => {
    const [some, others] = [{ ...groups }, { ...groups }];
    await rename(requestOf('PATCH'), { 1: 'a', 2: 'b', 3: 'c' }, { groupsAt: (index: number) => (index === 1 ? others : some) });
    expect(announced.map(([names]) => names)).toEqual([['a', 'c'], ['b']]);
    expect(announced[0]?.[1]).toBe(some);
    expect(announced[1]?.[1]).toBe(others);
  });

  test('is written as a whole or not at all', async () => {
    // the first row keeps its own name
    const error = await thrown(rename(requestOf('PATCH'), { 1: 'one', 2: 'three' }));
    expect([error.code, error.members.index]).toEqual(['conflict_unique', 1]);
    refusal = new Error('too large');
    expect(await thrown(rename(requestOf('PATCH'), { 1: 'first' }))).toBe(refusal);
    expect(await namesIn()).toEqual(['one', 'two', 'three']);
  });

  test('can have more rows than are read in one turn', async () => {
    const keys = Array.from({ length: 600 }, (_, i) => i + 1);
    for (const id of keys.slice(3)) await execute(`insert into item values (${id}, 'row ${id}', 1)`);
    for (const isRestricted of [true, false]) {
      const given = requestOf('PATCH');
      const found: string[] = [];
      const names = Object.fromEntries(keys.map((key) => [key, `${isRestricted} ${key} `]));
      const changed = await rename(given, names, { restriction: isRestricted ? await openOnly(given.em) : null, found });
      expect(found).toHaveLength(isRestricted ? 599 : 600);
      expect(changed.every(({ name }: Any) => !name.endsWith(' '))).toBe(true);
    }
  });

  test('reads no other rows again', async () => {
    const given = requestOf('PATCH');
    const other = await given.em.findOne(Item, 2);
    await execute("update item set name = 'changed' where id = 2");
    await rename(given, { 1: 'first' });
    expect(other.name).toBe('two');
  });
});

describe('a list of removals', () => {
  const remove = ({ request }: Any, keys: Identifier[], restriction: Any = null, admit?: Any) =>
    bulk.remove(request, keys, restriction, admit ?? (async (rows: Any) => [...rows.values()].map(({ entity }: Any) => entity)));

  test('removes the admitted rows, and gives a new version to rows whose reference it clears', async () => {
    await execute('insert into note values (1, 1, 1), (2, 3, 1)');
    const given = requestOf('DELETE');
    await remove(given, [1, 3], await openOnly(given.em), async (rows: Any) => {
      expect([...rows.keys()]).toEqual(['1']);
      return [rows.get('1').entity];
    });
    expect(await namesIn()).toEqual(['two', 'three']);
    expect((await execute('select item_id, revision from note order by id')).map((row) => Object.values(row))).toContainEqual([
      null,
      2,
    ]);
  });

  test('removes nothing if another row refers to one of them, or access is denied', async () => {
    await execute('insert into label values (1, 2)');
    const error = await thrown(remove(requestOf('DELETE'), [1, 2]));
    expect([error.code, error.members.index]).toEqual(['conflict_reference', 1]);
    const denied = new Error('denied');
    expect(await thrown(remove(requestOf('DELETE'), [1], null, () => Promise.reject(denied)))).toBe(denied);
    expect(await namesIn()).toEqual(['one', 'two', 'three']);
  });
});

describe('on a database with several writers', () => {
  /** The statements that lock or take a turn, with their parameters. */
  async function locking(isAlone: boolean, isRestricted: boolean, isSqlite = false): Promise<[string, unknown[]][]> {
    const syntax = {
      rowLock: (alias?: string) => ` /* locked ${alias} */`,
      turn: (isShared: boolean) => `select $1 /* ${isShared ? 'shared' : 'alone'} */`,
    };
    return withSyntax(mapper, isSqlite ? {} : syntax, async () => {
      const { em, request, state } = requestOf('PATCH');
      state.isAlone = isAlone;
      const restriction = isRestricted ? await openOnly(em) : null;
      const sent: [string, unknown[]][] = [];
      const plain = em.execute.bind(em);
      em.execute = (sql: string, params: unknown[]) => {
        sent.push([sql, params]);
        return plain(sql, params);
      };
      await bulk.change(
        request,
        [3, 1],
        restriction,
        () => groups,
        async () => [],
      );
      return sent;
    });
  }

  test('a list takes a turn, shared unless it follows a deadlock, and then locks the rows in the order of their keys', async () => {
    const [turn, lock] = (await locking(false, false)) as [Any, Any];
    expect(turn).toEqual(['select ? /* shared */', ['`item`']]);
    expect(lock[0]).toMatch(/^select 1 from `item` as e where .* order by `?e`?\.`id` \/\* locked e \*\/$/);
    expect(lock[1]).toEqual([3, 1]);
    expect((await locking(true, false))[0]?.[0]).toBe('select ? /* alone */');
  });

  test('needs neither on a database with one writer', async () => {
    expect(await locking(false, false, true)).toEqual([]);
  });

  test('only rows that pass the restriction are locked', async () => {
    const [, lock] = (await locking(false, true)) as [Any, Any];
    expect(lock[0]).toContain('`is_open`');
    expect(lock[0]).toMatch(/ order by `?e`?\.`id` \/\* locked e \*\/$/);
  });
});
