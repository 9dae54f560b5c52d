import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CompositeKey } from '../../src/model/composite-key.ts';
import { referringUpdates, touchReferring } from '../../src/store/inbound-versions.ts';
import { memoryMapper, metaNamed, withSyntax } from '../support/memory-mapper.ts';
import { Random, seed } from '../support/random.ts';

type Any = any;

const id = p.integer().primary();
const revision = p.integer().version();
const to = (target: Any, rule: string): Any => (p.manyToOne(target) as Any).nullable().deleteRule(rule);

/** A row is removed with the one above it, and with its owner. */
const Node: Any = defineEntity({
  name: 'Node',
  properties: { id, above: () => to(Node, 'cascade'), owner: () => to(Node, 'cascade'), revision },
} as Any);
/** Removed with one of two nodes. */
const Pair: Any = defineEntity({
  name: 'Pair',
  properties: {
    a: p.integer().primary(),
    b: p.integer().primary(),
    node: () => to(Node, 'CASCADE'),
    other: () => to(Node, 'cascade'),
    above: () => to(Pair, 'cascade'),
  },
} as Any);
const Leaf: Any = defineEntity({
  name: 'Leaf',
  properties: { id, node: () => to(Node, 'set null'), twin: () => to(Leaf, 'set null'), revision },
} as Any);
const Mark: Any = defineEntity({
  name: 'Mark',
  properties: { id, pair: () => to(Pair, 'SET NULL'), node: () => to(Node, 'set null'), revision },
} as Any);
/** Its reference is cleared as well, but it has no version. */
const Plain: Any = defineEntity({ name: 'Plain', properties: { id, node: () => to(Node, 'set null') } } as Any);
/** Its reference keeps a node from being removed. */
const Guard: Any = defineEntity({ name: 'Guard', properties: { id, node: () => to(Node, 'restrict'), revision } } as Any);
/** Each is removed with the other. */
const Day: Any = defineEntity({ name: 'Day', properties: { id, night: () => to(Night, 'cascade') } } as Any);
const Night: Any = defineEntity({ name: 'Night', properties: { id, day: () => to(Day, 'cascade') } } as Any);
const Star: Any = defineEntity({ name: 'Star', properties: { id, night: () => to(Night, 'set null'), revision } } as Any);

const mapper = await memoryMapper(Node, Pair, Leaf, Mark, Plain, Guard, Day, Night, Star);
const execute = (sql: string): Promise<Any[]> => mapper.em.fork().execute(sql) as never;
const tables = ['mark', 'leaf', 'plain', 'pair', 'node', 'star', 'night', 'day'];

beforeAll(async () => {
  for (const sql of [
    'pragma foreign_keys = on',
    'create table node (id integer primary key, above_id integer references node (id) on delete cascade, owner_id integer references node (id) on delete cascade, revision integer default 1)',
    'create table pair (a integer, b integer, node_id integer references node (id) on delete cascade, other_id integer references node (id) on delete cascade, above_a integer, above_b integer, primary key (a, b), foreign key (above_a, above_b) references pair (a, b) on delete cascade)',
    'create table leaf (id integer primary key, node_id integer references node (id) on delete set null, twin_id integer references leaf (id) on delete set null, revision integer default 1)',
    'create table mark (id integer primary key, pair_a integer, pair_b integer, node_id integer references node (id) on delete set null, revision integer default 1, foreign key (pair_a, pair_b) references pair (a, b) on delete set null)',
    'create table plain (id integer primary key, node_id integer references node (id) on delete set null)',
    'create table guard (id integer primary key, node_id integer references node (id), revision integer default 1)',
    'create table day (id integer primary key, night_id integer references night (id) on delete cascade)',
    'create table night (id integer primary key, day_id integer references day (id) on delete cascade)',
    'create table star (id integer primary key, night_id integer references night (id) on delete set null, revision integer default 1)',
  ])
    await execute(sql);
});
afterAll(() => mapper.close());
beforeEach(async () => {
  for (const table of tables) await execute(`delete from ${table}`);
});

/** The rows with a version, without it and with it, by table and key. */
async function versions(): Promise<Map<string, [contents: string, revision: number]>> {
  const found = new Map<string, [string, number]>();
  for (const table of ['leaf', 'mark', 'node', 'star'])
    for (const { revision: version, ...rest } of await execute(`select * from ${table}`))
      found.set(`${table} ${rest.id}`, [JSON.stringify(rest), version]);
  return found;
}

/** Removes a row after the statements for it, and holds that exactly the rows whose contents changed have a new version. */
async function removeAndCompare(model: string, key: Any, condition: string): Promise<number> {
  const before = await versions();
  await touchReferring(mapper, mapper.em.fork() as Any, metaNamed(mapper, model), [key]);
  const touched = await versions();
  await execute(`delete from ${model.toLowerCase()} where ${condition}`);
  let changes = 0;
  for (const [name, [contents, version]] of await versions()) {
    const [old, oldVersion] = before.get(name) as [string, number];
    expect([name, version > oldVersion]).toEqual([name, contents !== old]);
    if (contents !== old) changes++;
  }
  // only versions are touched
  expect([...touched].map(([name, [contents]]) => [name, contents])).toEqual(
    [...before].map(([name, [contents]]) => [name, contents]),
  );
  return changes;
}

test('exactly the rows whose references a removal clears get a new version', async () => {
  let changes = 0;
  for (let number = 0; number < 40; number++) {
    const random = new Random(seed + number);
    for (const table of tables) await execute(`delete from ${table}`);
    const below = (most: number) => 1 + random.below(most);
    const node = () => (random.below(5) === 0 ? 'null' : below(8));
    const earlier = (i: number) => (i === 1 || random.below(2) === 0 ? 'null' : below(i - 1));
    for (let i = 1; i <= 8; i++)
      await execute(`insert into node (id, above_id, owner_id) values (${i}, ${earlier(i)}, ${earlier(i)})`);
    for (let i = 1; i <= 6; i++) {
      const above = earlier(i);
      await execute(`insert into pair values (${i % 2}, ${i}, ${node()}, ${node()}, ${above} % 2, ${above})`);
      await execute(`insert into leaf (id, node_id, twin_id) values (${i}, ${node()}, ${earlier(i)})`);
      await execute(`insert into plain values (${i}, ${node()})`);
    }
    for (let i = 1; i <= 6; i++) {
      const b = below(6);
      await execute(`insert into mark (id, pair_a, pair_b, node_id) values (${i}, ${b % 2}, ${b}, ${node()})`);
    }
    if (number % 4 === 0) changes += await removeAndCompare('Pair', CompositeKey.of(1, 3), 'a = 1 and b = 3');
    const key = below(8);
    changes += await removeAndCompare('Node', key, `id = ${key}`);
  }
  expect(changes).toBeGreaterThan(40);
});

test('models that remove each other are followed once', async () => {
  await execute('insert into day values (1, null), (2, null)');
  await execute('insert into night values (1, 1), (2, 2)');
  await execute('insert into star (id, night_id) values (1, 1), (2, 2)');
  expect(await removeAndCompare('Day', 1, 'id = 1')).toBe(1);
});

test('rows are locked before others that refer to them are changed, and nothing is sent if none change', async () => {
  const updates = (model: string) => referringUpdates(mapper, metaNamed(mapper, model), (position) => `$${position}`);
  expect(updates('Plain')).toEqual([]);
  expect(updates('Node').every((sql) => sql.startsWith('update '))).toBe(true);
  await withSyntax(mapper, { removalLock: ' /* locked */' }, async () => {
    expect(updates('Plain')).toEqual([]);
    expect(updates('Pair')).toEqual([
      expect.stringMatching(/^select 1 from `pair` where .* \/\* locked \*\/$/),
      expect.stringMatching(/^update `mark` /),
    ]);
    expect(updates('Node')[0]).toMatch(/^select 1 from `node` where .* \/\* locked \*\/$/);
  });
});
