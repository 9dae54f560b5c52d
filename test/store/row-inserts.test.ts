import { DatabaseSync } from 'node:sqlite';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Step } from '../../src/database/writer.ts';
import { problem, violationsProblem } from '../../src/errors.ts';
import type { QueryText } from '../../src/query/rows/bound-statement.ts';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { ItemErrors } from '../../src/store/item-errors.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { RowInserts } from '../../src/store/row-inserts.ts';
import { FoundRows } from '../../src/store/row-store.ts';
import { notPlain, RowWrites } from '../../src/store/row-writes.ts';
import { memoryMapper, memoryWriter, metaNamed, withSyntax } from '../support/memory-mapper.ts';

type Any = any;

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string() } });
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().unique(),
    num: p.integer().nullable(),
    tag: () => p.manyToOne(Tag).nullable(),
    other: () => p.manyToOne(Tag).nullable(),
  },
});
/** Its keys come with the bodies. */
const Word = defineEntity({ name: 'Word', properties: { name: p.string().primary(), num: p.integer().nullable() } });
const mapper = await memoryMapper(Tag, Item, Word);
const database = new DatabaseSync(':memory:');
afterAll(() => {
  database.close();
  return mapper.close();
});
database.exec(`create table tag (id integer primary key, name text);
  create table item (id integer primary key, name text not null unique, num integer default 7, tag_id integer references tag (id), other_id integer references tag (id));
  create table word (name text primary key, num integer)`);
const rowsOf = (sql: string): Any[] => database.prepare(sql).all();
const names = (table = 'item') => rowsOf(`select name from ${table} order by rowid`).map(({ name }) => name);

beforeEach(() => {
  stored = [];
  seen = 'all';
  may = () => true;
  database.exec(`delete from item; delete from word; delete from tag;
    insert into tag values (1, 'red'), (2, 'blue'); insert into item values (5, 'old', 1, null, null)`);
});

/** The steps of each change. */
let stored: (readonly Step[])[] = [];
const writer = memoryWriter(database, (steps) => stored.push(steps));
const executor: Any = {
  rows: async ({ text }: Any, params: Any[]) =>
    database
      .prepare(text)
      .all(...params)
      .map((row) => Object.values(row)),
};

/** The tags that the caller sees, as a condition, and whether they may refer to one if no condition says so. */
let seen: Any = 'all';
let may: (id: unknown) => boolean = () => true;
const seenNamed = (name: string): Any => [
  {
    from: '"tag" as "t"',
    keys: ['"t"."id"'],
    condition: { key: name, pieces: ['"t"."name" = ', ''], casts: [''], params: [name] },
  },
];
/** The keys about which was decided together. */
let decided: unknown[] = [];
const references = {
  rows: async () => seen,
  may: async (_: unknown, id: unknown) => may(id),
  decide: async (_: unknown, ids: unknown[]) => {
    decided = ids;
  },
};
const types: Record<string, string> = { name: 'text', num: 'integer', tag_id: 'integer', other_id: 'integer' };
const columnsOf = (body: Any): Any =>
  Object.entries(body).map(([name, value]) => ({
    column: `\`${name}\``,
    value,
    type: types[name],
    property: null,
    refersTo:
      name.endsWith('_id') && value !== null
        ? { table: 'tag', key: 'id', id: value, field: { targets: ['target'], name: 'tag' }, references }
        : null,
  }));
const associations: Any = {
  refusal: (_: unknown, __: unknown, name: string) => problem('invalid_reference', { field: name, reason: 'not found' }),
};
const reading: Any = 'reading';
const step = (text: string, parameters: Any): Any => ({ statement: { text }, parameters });

/** Rows come back in another order than they were inserted in. */
const storeOf = (table: string, key: string, isReadWithin: boolean): Any => ({
  readingWithin: async (_: unknown, tables: string[]) => {
    expect(tables).toEqual([`\`${table}\``]);
    return reading;
  },
  readingWithVisibility: async () => reading,
  foundRow: (_: unknown, row: unknown[], given: unknown) => ({ row, given }),
  read: {
    isReadWithin,
    keyOf: (row: unknown[]) => row[0],
    afterwards: ({ params, sql }: QueryText) => [
      step(`${sql} returning id`, params),
      step(`select id, name, num, tag_id from ${table} where id <> 5 order by name`, []),
    ],
    byKeys: (keysOf: Any) =>
      step(
        `select ${key} as key, name, num from ${table} where ${key} in (select value from json_each(?)) order by name desc`,
        (before: Any) => [JSON.stringify(keysOf(before))],
      ),
  },
});

function insertsOf(model: 'Item' | 'Word', { code = null, isReadWithin = true }: Any = {}) {
  const rows = storeOf(model.toLowerCase(), model === 'Item' ? 'id' : 'name', isReadWithin);
  const writes = new RowWrites({ mapper, meta: metaNamed(mapper, model), rows, writer, executor, associations, code });
  const plain: Any = {
    emptyColumns: new Set(['`tag_id`', '`other_id`']),
    read: (body: Any, kind: string, { withDefaults }: Any) => {
      expect([kind, withDefaults]).toEqual(['create', code === null]);
      return body.nested ? null : columnsOf(body);
    },
  };
  return new RowInserts({ writes, plain, checked: rows, hasRules: false });
}

/** Inserts items, and returns the values of the rows, or what is returned instead. */
async function insert(bodies: object[], { model = 'Item', request = {} as Any, ...options }: Any = {}): Promise<Any> {
  const items = bodies.map((body, i): Any => ({ request: { body }, check: `check ${i}` }));
  const found = await insertsOf(model, options).create(request, items, new ItemErrors());
  if (!(found instanceof FoundRows)) return found;
  expect(found.rows.every((row: Any) => row.given === reading)).toBe(true);
  return found.rows.map(({ row }: Any) => row.slice(1));
}
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    (result) => ({ result }),
    (error: unknown) => error,
  );
const named = (...all: string[]) => all.map((name) => ({ name }));

describe('a list of new rows', () => {
  test('is inserted by one statement, and returned in the order of the items', async () => {
    const inserted = await insert([...named('c', 'a'), { name: 'b' }]);
    expect(inserted).toEqual([
      ['c', 7, null],
      ['a', 7, null],
      ['b', 7, null],
    ]);
    expect(names()).toEqual(['old', 'c', 'a', 'b']);
    expect(stored.map((steps) => steps.length)).toEqual([2]);
  });

  test('is left to the mapper as a whole if one body has more than columns', async () => {
    expect(await insert([{ name: 'a' }, { nested: true }])).toBe(notPlain);
    expect([names(), stored]).toEqual([['old'], []]);
  });

  test('is not inserted if one row has a value that another has', async () => {
    for (const [bodies, index] of [
      [named('a', 'b', 'old'), 2],
      [named('a', 'b', 'a'), 2],
      [named('old'), 0],
    ] as const) {
      const error = await thrown(insert([...bodies]));
      expect([error.code, error.members.index]).toEqual(['conflict_unique', index]);
      expect(names()).toEqual(['old']);
    }
  });

  test.each([
    [{ name: 'a' }, { name: 'b', num: 1 }, { name: 'c' }],
    [{ name: 'c', num: 3 }, { name: 'b' }, { name: 'a', num: null }],
  ])('with different columns keeps the values of the database for those that an item leaves out: %j', async (...bodies) => {
    const inserted = await insert(bodies);
    expect(inserted).toEqual(bodies.map(({ name, num }: Any) => [name, num === undefined ? 7 : num]));
    expect(stored.map((steps) => steps.length)).toEqual([3]);
    expect(names().sort()).toEqual(['a', 'b', 'c', 'old']);
    // all or none
    const error = await thrown(insert([{ name: 'x' }, { name: 'old', num: 1 }]));
    expect([error.code, names().includes('x')]).toEqual(['conflict_unique', false]);
  });

  test('gets null for an association that only some items have', async () => {
    expect(await insert([{ name: 'a' }, { name: 'b', tag_id: 2 }])).toEqual([
      ['a', 7, null],
      ['b', 7, 2],
    ]);
    expect(stored).toHaveLength(1);
  });

  test('with keys of its own, or that is not read by the statement that inserts, is in the order of the items', async () => {
    expect(await insert(named('z', 'y'), { model: 'Word' })).toEqual([
      ['z', null],
      ['y', null],
    ]);
    expect(await insert([{ name: 'b' }, { name: 'c' }, { name: 'a', num: 1 }], { model: 'Word' })).toEqual([
      ['b', null],
      ['c', null],
      ['a', 1],
    ]);
    expect(await insert(named('b', 'c', 'a'), { isReadWithin: false })).toEqual([
      ['b', 7],
      ['c', 7],
      ['a', 7],
    ]);
  });

  test('can take several statements, in one transaction', async () => {
    const { rowSource } = (await import('../../src/dialect/sqlite/syntax.ts')).sqliteSyntax;
    const few = { ...rowSource, mostRows: (columns: number) => (columns === 1 ? 2 : 1) };
    await withSyntax(mapper, { rowSource: few }, async () => {
      expect(await insert(named('e', 'd', 'c', 'b', 'a'))).toEqual([
        ['e', 7],
        ['d', 7],
        ['c', 7],
        ['b', 7],
        ['a', 7],
      ]);
      expect((await thrown(insert(named('f', 'g', 'old')))).code).toBe('conflict_unique');
    });
    expect(stored[0]).toHaveLength(4);
    expect(names()).toEqual(['old', 'e', 'd', 'c', 'b', 'a']);
  });

  test('may take long if it has more than 200 rows', async () => {
    for (const count of [200, 201]) {
      await insert(named(...Array.from({ length: count }, (_, i) => `${count}-${i}`)), { isReadWithin: false });
      expect(stored.at(-1)?.[0]?.mayTakeLong).toBe(count > 200);
    }
  });

  test('takes a turn with other lists, and none with them after a deadlock', async () => {
    const turn = (isShared: boolean) => `select ?1 as "${isShared ? 'shared' : 'alone'}" where 0`;
    const request: Any = {};
    await withSyntax(mapper, { turn }, async () => {
      await insert(named('a'), { request });
      stateOf(request, mapper).isAlone = true;
      await insert(named('b'), { request, isReadWithin: false });
    });
    expect(stored.map(([first]) => [first?.statement.text, first?.parameters])).toEqual([
      ['select ?1 as "shared" where 0', ['`item`']],
      ['select ?1 as "alone" where 0', ['`item`']],
    ]);
  });
});

describe('references of new rows', () => {
  const list = (...tags: (number | null)[]) => tags.map((tag_id, i) => ({ name: `row ${i}`, tag_id }));

  test('are rows that exist, or null', async () => {
    expect(await insert(list(1, null, 2))).toHaveLength(3);
    database.exec('delete from item');
    for (const isReadWithin of [true, false])
      for (const bodies of [
        list(1, 9, 2),
        [
          { name: 'a', tag_id: null },
          { name: 'b', tag_id: 9 },
          { name: 'c', tag_id: null },
        ],
      ]) {
        const error = await thrown(insert(bodies, { isReadWithin }));
        expect([error.code, error.members.index, names()]).toEqual(['invalid_reference', 1, []]);
      }
    const error = await thrown(insert([{ name: 'a', tag_id: 1, other_id: 9 }]));
    expect([error.code, names()]).toEqual(['invalid_reference', []]);
  });

  test('are rows that the caller sees: with others, nothing is inserted', async () => {
    seen = seenNamed('red');
    // the statement itself checks that
    may = () => false;
    expect(await insert(list(1, null, 1))).toHaveLength(3);
    database.exec('delete from item');
    may = (id) => id === 1;
    const error = await thrown(insert(list(1, null, 2)));
    expect([error.code, error.members.index, names()]).toEqual(['invalid_reference', 2, []]);
    // the caller sees it since
    may = () => true;
    expect(await thrown(insert(list(1, 2)))).toBeInstanceOf(RowChanged);
    seen = [];
    expect(await thrown(insert(list(1)))).toBeInstanceOf(RowChanged);
    expect(names()).toEqual([]);
  });

  test('are decided together and then checked one by one if no condition says what the caller sees', async () => {
    seen = null;
    expect(await insert(list(1, 2))).toHaveLength(2);
    expect(decided).toEqual([1, 2]);
    may = (id) => id !== 2;
    const error = await thrown(insert(list(1, null, 2)));
    expect([error.code, error.members.index]).toEqual(['invalid_reference', 2]);
    expect([names(), stored]).toEqual([['old', 'row 0', 'row 1'], [expect.anything()]]);
  });

  test('of rows with different columns are left to the mapper', async () => {
    expect(await insert([{ name: 'a' }, { name: 'b', num: 1, tag_id: 1 }])).toBe(notPlain);
    expect([names(), stored]).toEqual([['old'], []]);
  });
});

describe('code of the model', () => {
  const red = { id: 1 };
  /** What code got, and which rows it found for the references. */
  const given: Any[] = [];
  const codeWith = (options: Any = {}): Any => ({
    referredAll: async (_: unknown, bodies: Any[], visible: Any) => {
      given.push(visible);
      if (options.refuses) return null;
      return bodies.map(
        (columns) =>
          new Map(columns.flatMap(({ column, value }: Any) => (column === '`tag_id`' && value === 1 ? [[column, red]] : []))),
      );
    },
    created: async ({ body }: Any, columns: Any[], existing: Map<string, object>, check: unknown) => {
      given.push([body.name, [...existing.values()], check]);
      if (body.name.startsWith('bad')) throw violationsProblem([{ propertyPath: 'name', message: 'bad' } as Any]);
      return [...columns, ...columnsOf({ num: 42 })];
    },
  });
  beforeEach(() => {
    given.length = 0;
  });

  test('sets further columns, and gets the rows that the caller sees', async () => {
    seen = seenNamed('red');
    const inserted = await insert(
      [
        { name: 'a', tag_id: 1 },
        { name: 'b', tag_id: null },
      ],
      { code: codeWith() },
    );
    expect(inserted).toEqual([
      ['a', 42, 1],
      ['b', 42, null],
    ]);
    expect(given).toEqual([new Map([['`tag_id`', seen]]), ['a', [red], 'check 0'], ['b', [], 'check 1']]);
  });

  test('does not run on a row whose reference is missing, and then nothing is inserted', async () => {
    const error = await thrown(insert([{ name: 'a' }, { name: 'b', tag_id: 2 }], { code: codeWith() }));
    expect([error.code, error.members.index]).toEqual(['invalid_reference', 1]);
    expect(given.map(([name]) => name)).not.toContain('b');
    expect(names()).toEqual(['old']);
  });

  test('collects the violations of all rows, and then nothing is inserted', async () => {
    const error = await thrown(insert(named('bad 1', 'good', 'bad 2'), { code: codeWith() }));
    expect(error.members.violations.map(({ propertyPath }: Any) => propertyPath)).toEqual(['[0].name', '[2].name']);
    expect([names(), stored]).toEqual([['old'], []]);
  });

  test('that needs entities leaves the list to the mapper', async () => {
    expect(await insert(named('a'), { code: codeWith({ refuses: true }) })).toBe(notPlain);
    expect([names(), stored]).toEqual([['old'], []]);
  });
});
