// Random pairs of an old and a new model: an oracle tells of each change what `update` and `check` do about it.
import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import type { SchemaMode } from '../../src/declaration/types.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { rowsOf } from '../support/sql.ts';
import { startApplication } from '../support/testing.ts';

type Any = any;
type Property = () => Any;

interface Change {
  /** The property before and after, by their names after the prefix of the change. */
  readonly before: Readonly<Record<string, Property>>;
  readonly after: Readonly<Record<string, Property>>;
  /** What the row holds in columns of the old model. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What is read of the row afterwards; undefined: the change is refused. */
  readonly read: Readonly<Record<string, unknown>>;
  readonly update: 'adds' | 'refuses' | 'ignores';
  /** What `check` lists. */
  readonly lists: boolean;
}

const string = (length = 50) => p.string().length(length);

/** Each kind of change, for a table with or without rows. */
const changes: Readonly<Record<string, (kind: DatabaseKind, hasRows: boolean) => Change>> = {
  keep: () => ({
    before: { a: () => string() },
    after: { a: () => string() },
    row: { a: 'kept' },
    read: { a: 'kept' },
    update: 'ignores',
    lists: false,
  }),
  removeNullable: () => ({
    before: { a: () => string().nullable() },
    after: {},
    row: { a: 'hidden' },
    read: {},
    update: 'ignores',
    lists: false,
  }),
  removeRequired: () => ({ before: { a: () => string() }, after: {}, row: { a: 'x' }, read: {}, update: 'refuses', lists: true }),
  removeDefaulted: () => ({
    before: { a: () => string().default('d') },
    after: {},
    row: { a: 'hidden' },
    read: {},
    update: 'ignores',
    lists: false,
  }),
  addNullable: () => ({
    before: {},
    after: { a: () => string().nullable() },
    row: {},
    read: { a: null },
    update: 'adds',
    lists: true,
  }),
  addDefaulted: () => ({
    before: {},
    after: { a: () => string().default('d') },
    row: {},
    read: { a: 'd' },
    update: 'adds',
    lists: true,
  }),
  addRequired: (_, hasRows) => ({
    before: {},
    after: { a: () => p.integer() },
    row: {},
    read: {},
    update: hasRows ? 'refuses' : 'adds',
    lists: true,
  }),
  rename: () => ({
    before: { a: () => string().nullable() },
    after: { b: () => string().nullable() },
    row: { a: 'hidden' },
    read: { b: null },
    update: 'adds',
    lists: true,
  }),
  widen: (kind) => ({
    before: { a: () => string(10) },
    after: { a: () => string(50) },
    row: { a: 'short' },
    read: { a: 'short' },
    // a text of SQLite has no limit
    update: kind === 'sqlite' ? 'ignores' : 'refuses',
    lists: kind !== 'sqlite',
  }),
  narrow: () => ({
    before: { a: () => string(50) },
    after: { a: () => string(10) },
    row: { a: 'a text of more than ten' },
    read: { a: 'a text of more than ten' },
    update: 'ignores',
    lists: false,
  }),
  retype: () => ({
    before: { a: () => string() },
    after: { a: () => p.integer() },
    row: { a: '007' },
    read: {},
    update: 'refuses',
    lists: true,
  }),
  require: () => ({
    before: { a: () => p.integer().nullable() },
    after: { a: () => p.integer() },
    row: { a: 7 },
    read: { a: 7 },
    update: 'ignores',
    lists: false,
  }),
  unrequire: () => ({
    before: { a: () => p.integer() },
    after: { a: () => p.integer().nullable() },
    row: { a: 7 },
    read: {},
    update: 'refuses',
    lists: true,
  }),
  addItem: () => ({
    before: { a: () => p.enum(['x', 'y']) },
    after: { a: () => p.enum(['x', 'y', 'z']) },
    row: { a: 'x' },
    read: {},
    update: 'refuses',
    lists: true,
  }),
  removeItem: () => ({
    before: { a: () => p.enum(['x', 'y']) },
    after: { a: () => p.enum(['x']) },
    row: { a: 'x' },
    read: { a: 'x' },
    update: 'ignores',
    lists: false,
  }),
  addIndex: () => ({
    before: { a: () => p.integer() },
    after: { a: () => p.integer().index() },
    row: { a: 7 },
    read: { a: 7 },
    update: 'ignores',
    lists: false,
  }),
};

/** A model of the properties of several changes, each under names of its own: `c0_a`. */
function modelOf(side: 'before' | 'after', all: readonly Change[]): Any {
  const properties = all.flatMap((change, i) =>
    Object.entries(change[side]).map(([name, make]) => [`c${i}_${name}`, make().groups('read', 'write')]),
  );
  return defineEntity({
    name: 'Thing',
    properties: { id: p.integer().primary().groups('read'), ...Object.fromEntries(properties) },
  } as Any);
}

const optionsFor = (url: string, model: Any, schema: SchemaMode) => {
  const apis = { thing: { class: model, base_path: '/thing', actions: { _index: { methods: { GET: true, POST: true } } } } };
  return { app_main: { apis, database: { url, schema } } as Any, models: [model] };
};

/** What a start does to the database, without a server. */
async function prepare(url: string, model: Any, schema: SchemaMode): Promise<void> {
  const { declaration, mapper } = await loadApplication(optionsFor(url, model, schema));
  try {
    await prepareDatabase(mapper, declaration.database, { seed: null });
  } finally {
    await mapper.close(true);
  }
}

/** The changes that a failed start lists, by their numbers. */
async function refused(starting: Promise<void>): Promise<number[]> {
  try {
    await starting;
    return [];
  } catch (error) {
    const found = Array.from((error as Error).message.matchAll(/^Thing\S*: [^;]*?\bc(\d+)_[ab]\b/gm), ([, i]) => Number(i));
    if (found.length === 0) throw error;
    return [...new Set(found)].sort((a, b) => a - b);
  }
}

const numbersOf = (all: readonly Change[], which: (change: Change) => boolean) =>
  all.flatMap((change, i) => (which(change) ? [i] : []));

describe.each(databases)('on %s', (kind) => {
  test('random model changes are added, rejected or ignored as the oracle predicts', async () => {
    const names = Object.keys(changes);
    const accepted = names.filter((name) => changes[name]?.(kind, true).update !== 'refuses');
    const some = (of: readonly string[]) => fc.uniqueArray(fc.constantFrom(...of), { minLength: 1, maxLength: 6 });
    const cases = fc.record({
      // most mixtures are refused for one of their changes
      chosen: fc.oneof(some(names), some(accepted)),
      hasRows: fc.boolean(),
    });
    const property = fc.asyncProperty(cases, async ({ chosen, hasRows }) => {
      const all = chosen.map((name) => (changes[name] as (typeof changes)[string])(kind, hasRows));
      const database = await freshDatabase(kind);
      const sql = (text: string) => rowsOf(kind, database.url, text);
      try {
        await prepare(database.url, modelOf('before', all), 'update');
        const row = all.flatMap((change, i) => Object.entries(change.row).map(([name, value]) => [`c${i}_${name}`, value]));
        const columns = row.map(([name]) => name).join(', ');
        const values = row.map(([, value]) => (typeof value === 'number' ? value : `'${value}'`)).join(', ');
        if (hasRows)
          await sql(row.length > 0 ? `insert into thing (${columns}) values (${values})` : 'insert into thing default values');
        const before = await sql('select * from thing');

        expect(await refused(prepare(database.url, modelOf('after', all), 'check'))).toEqual(
          numbersOf(all, ({ lists }) => lists),
        );
        const refusals = numbersOf(all, ({ update }) => update === 'refuses');
        expect(await refused(prepare(database.url, modelOf('after', all), 'update'))).toEqual(refusals);
        const after = await sql('select * from thing');
        if (refusals.length > 0) {
          expect(after).toEqual(before);
          return;
        }
        expect(await refused(prepare(database.url, modelOf('after', all), 'check'))).toEqual([]);
        // what the models do not have any more is still there, and not shown
        for (const [i, one] of before.entries()) expect(after[i]).toMatchObject(one);
        const app = await startApplication(optionsFor(database.url, modelOf('after', all), 'check'));
        const { results } = (await app.request('GET', '/thing.json')).json;
        await app.close();
        const read = all.flatMap((change, i) => Object.entries(change.read).map(([name, value]) => [`c${i}_${name}`, value]));
        expect(results).toEqual(hasRows ? [{ id: 1, ...Object.fromEntries(read) }] : []);
      } finally {
        await database.drop();
      }
    });
    await fc.assert(property, { numRuns: 4, ...casesOn(kind) });
  });
});
