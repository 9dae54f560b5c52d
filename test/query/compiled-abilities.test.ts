import { setImmediate as turn } from 'node:timers/promises';
import { defineEntity, p, Type } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type DatabaseKind, databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

class ShoutType extends Type<string, string> {
  override convertToJSValue(value: string): string {
    return value.toUpperCase();
  }
  override getColumnType(): string {
    return 'varchar(20)';
  }
}

type Properties = Record<string, any>;

interface Case {
  readonly properties: (item: () => unknown) => Properties;
  readonly options?: Record<string, unknown>;
  readonly row?: Record<string, unknown>;
  readonly only?: DatabaseKind;
}

const named = { name: 'b' };

/** What is read without entities. */
const compiled: Record<string, Case> = {
  'a getter': { properties: () => ({ shout: p.string().nullable().persist(false).getter().groups('read') }) },
  'a serializer of its own': {
    properties: () => ({
      other: p
        .string()
        .serializer((value: string) => `<${value}>`)
        .groups('read'),
    }),
    row: { other: 'x' },
  },
  'a type of its own': { properties: () => ({ other: p.type(ShoutType).groups('read') }), row: { other: 'x' } },
  'a formula that gives text': {
    properties: () => ({
      twice: p
        .string()
        .formula((columns: Properties) => `${columns.name} || ${columns.name}`)
        .groups('read'),
    }),
  },
  'a formula that gives a number, on SQLite': {
    only: 'sqlite',
    properties: () => ({
      length: p
        .integer()
        .formula((columns: Properties) => `length(${columns.name})`)
        .groups('read'),
    }),
  },
  'a to-many that the model orders by a column': {
    properties: (item) => ({
      items: () => (p.oneToMany(item() as never) as Properties).mappedBy('thing').orderBy({ title: 'desc' }).groups('read'),
    }),
  },
  'a to-many that the model orders by two columns': {
    properties: (item) => ({
      items: () =>
        (p.oneToMany(item() as never) as Properties).mappedBy('thing').orderBy({ rank: 'asc' }, { title: 'desc' }).groups('read'),
    }),
  },
  'a list of strings': { properties: () => ({ tags: p.array().groups('read') }), row: { tags: ['a', 'b,c', '"', ''] } },
  'a list of enums': { properties: () => ({ tags: p.enum(['a', 'b']).array().groups('read') }), row: { tags: ['b', 'a'] } },
  'an interval': { properties: () => ({ span: p.interval().groups('read') }), row: { span: '1 day 02:00:00' } },
  'a table of another name': { properties: () => ({}), options: { tableName: 'select from' } },
  'a column of another name': {
    properties: () => ({ other: p.string().fieldName('Order By').groups('read') }),
    row: { other: 'x' },
  },
  'a date object in a date column': {
    properties: () => ({ day: p.datetime().columnType('date').groups('read') }),
    row: { day: new Date('2026-11-15T00:00:00.000Z') },
  },
};

/** What is left to entities. */
const refused: Record<string, Case> = {
  'a formula that gives a number, on PostgreSQL': {
    only: 'postgresql',
    properties: () => ({
      length: p
        .integer()
        .formula((columns: Properties) => `length(${columns.name})`)
        .groups('read'),
    }),
  },
  'a filter that looks at how rows are loaded': {
    properties: () => ({}),
    options: {
      filters: {
        all: {
          name: 'all',
          cond: (_: unknown, _type: unknown, _em: unknown, _how: unknown) => ({ name: 'b' }),
          args: false,
          default: true,
        },
      },
    },
  },
  'a to-many with a condition': {
    properties: (item) => ({
      items: () => (p.oneToMany(item() as never) as Properties).mappedBy('thing').where({ rank: 1 }).groups('read'),
    }),
  },
  'a hook that runs when a row is loaded': { properties: () => ({}), options: { hooks: { onLoad: [() => undefined] } } },
};

function options(made: Case, url: string, compiledReads: boolean) {
  const Item: Properties = defineEntity({
    name: 'Item',
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read'),
      rank: p.integer().groups('read'),
      thing: () => p.manyToOne(Thing as never).nullable(),
    },
  } as never);
  const Thing: Properties = defineEntity({
    name: 'Thing',
    ...made.options,
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), ...made.properties(() => Item) },
  } as never);
  const actions = { _index: null, _entity: null };
  return {
    app_main: {
      apis: { thing: { class: Thing as never, base_path: '/thing', actions } },
      database: { url, schema: compiledReads ? ('none' as const) : ('update' as const) },
    },
    models: [Thing, Item] as never,
    compiledReads,
    seed: (em: any) => {
      for (const id of [1, 2]) {
        const thing = em.create(Thing, { id, ...named, ...made.row });
        for (const [i, title] of ['m', 'z', 'a', 'B'].entries()) em.create(Item, { id: id * 10 + i, title, rank: i % 2, thing });
      }
    },
  };
}

async function bothAnswers(database: DatabaseKind, made: Case) {
  const fresh: FreshDatabase = await freshDatabase(database);
  const applications: TestApplication[] = [];
  try {
    const answers = [];
    for (const compiledReads of [false, true]) {
      const application = await startApplication(options(made, fresh.url, compiledReads));
      applications.push(application);
      application.statements.length = 0;
      const texts = [];
      for (const url of ['/thing.json', '/thing.json?items_per_page=1&page=2', '/thing/1.json', '/thing/3.json'])
        texts.push((await application.app.inject({ url })).body);
      answers.push({ texts, isCompiled: application.statements.every((sql) => !/as [`"]/.test(sql)) });
    }
    return answers as [{ texts: string[]; isCompiled: boolean }, { texts: string[]; isCompiled: boolean }];
  } finally {
    for (const application of applications) await application.close();
    await fresh.drop();
  }
}

describe.each(databases)('compiled reads on %s', (database) => {
  const on = (cases: Record<string, Case>) => Object.keys(cases).filter((name) => (cases[name]?.only ?? database) === database);

  test.each(on(compiled))('read %s without entities, with the same response', async (name) => {
    const [expected, given] = await bothAnswers(database, compiled[name] as Case);
    expect(expected.isCompiled).toBe(false);
    expect(given.texts).toEqual(expected.texts);
    expect(given.texts[2]).toContain('"name":"b"');
    expect(given.isCompiled).toBe(true);
  });

  test.each(on(refused))('fall back to entities for %s', async (name) => {
    const [expected, given] = await bothAnswers(database, refused[name] as Case);
    expect(given.texts).toEqual(expected.texts);
    expect(given.texts[2]).toContain('"name":"b"');
    expect(given.isCompiled).toBe(false);
  });
});

describe.each(databases)('coalescing on %s', (database) => {
  let fresh: FreshDatabase;
  let application: TestApplication;

  const Counter = defineEntity({
    name: 'Counter',
    properties: { id: p.integer().primary().groups('read'), value: p.integer().groups('read', 'write') },
  });

  beforeAll(async () => {
    fresh = await freshDatabase(database);
    application = await startApplication({
      app_main: {
        apis: {
          counter: {
            class: Counter,
            base_path: '/counter',
            actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
          },
        },
      },
      models: [Counter],
      databaseUrl: fresh.url,
      compiledReads: true,
      seed: (em) => em.create(Counter, { id: 1, value: 0 }),
    });
  });

  afterAll(async () => {
    await application.close();
    await fresh.drop();
  });

  test('never returns data older than a write committed before the request', async () => {
    let written = 0;
    let stop = false;
    let reads = 0;
    const stale: string[] = [];
    const readers = Array.from({ length: 20 }, async (_, i) => {
      while (!stop) {
        const known = written;
        const { body } = await application.app.inject({ url: i % 2 ? '/counter.json' : '/counter/1.json' });
        const read = JSON.parse(body);
        const { value } = i % 2 ? read.results[0] : read;
        if (value < known) stale.push(`${value} < ${known}`);
        reads++;
        // what is asked for in the same turn would leave the writer none
        await turn();
      }
    });
    for (let round = 1; round <= 60; round++) {
      const { statusCode } = await application.app.inject({ method: 'PATCH', url: '/counter/1.json', payload: { value: round } });
      expect(statusCode).toBe(200);
      written = round;
      const { body } = await application.app.inject({ url: '/counter/1.json' });
      expect(JSON.parse(body).value).toBe(round);
    }
    stop = true;
    await Promise.all(readers);
    expect(stale).toEqual([]);
    expect(reads).toBeGreaterThan(150);
  });
});
