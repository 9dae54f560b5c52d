import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SchemaMode } from '../../src/declaration/types.ts';
import type { CodeOptions } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { rowsOf } from '../support/sql.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const id = () => p.integer().primary().groups('read');
const text = () => p.string().groups('read', 'write');

/** One model of each shape that has columns in its own way. */
function shapes(kind: string): Any[] {
  const Address = defineEntity({
    name: 'Address',
    embeddable: true,
    properties: { city: p.string().nullable().groups('read', 'write'), zip: p.string().nullable().groups('read', 'write') },
  });
  const Tag = defineEntity({ name: 'Tag', properties: { id: id(), text: text() } });
  const Note = defineEntity({ name: 'Note', properties: { id: id(), text: text() } });
  const Person = defineEntity({
    name: 'Person',
    properties: {
      id: id(),
      name: p.string().length(50).groups('read', 'write'),
      home: () => p.embedded(Address).nullable().groups('read', 'write'),
      kept: () => p.embedded(Address).object().nullable().groups('read', 'write'),
      tags: () => p.manyToMany(Tag).groups('read'),
      boss: () => p.manyToOne(Person).nullable().groups('read', 'write'),
      about: () => p.manyToOne([Tag, Note]).nullable(),
      loud: p
        .string()
        .formula((columns: Any) => `upper(${columns.name})`)
        .groups('read'),
      mood: p.enum(['sad', 'glad']).default('glad').groups('read', 'write'),
      score: p.decimal().precision(8).scale(3).default('1.5').groups('read'),
      at: p.datetime().nullable().groups('read'),
      made: p
        .datetime()
        .defaultRaw(kind === 'sqlite' ? '0' : 'now()')
        .groups('read'),
      size: p.bigint().nullable().groups('read'),
      facts: p.json().nullable().groups('read'),
      words: p.array().nullable().groups('read'),
      key: p.uuid().nullable().groups('read'),
      version: p.integer().version().groups('read'),
      scratch: p.string().persist(false).nullable(),
    },
  } as Any);
  const Animal = defineEntity({
    name: 'Animal',
    discriminatorColumn: 'type',
    discriminatorMap: { animal: 'Animal', dog: 'Dog', cat: 'Cat' },
    properties: { id: id(), type: p.string().groups('read'), name: text() },
  } as Any);
  const Dog = defineEntity({ name: 'Dog', extends: Animal, properties: { barks: p.boolean().groups('read', 'write') } } as Any);
  const Cat = defineEntity({ name: 'Cat', extends: Animal, properties: { lives: p.integer().groups('read', 'write') } } as Any);
  const Named = defineEntity({
    name: 'Named',
    view: true,
    expression: 'select id, name from person',
    properties: { id: id(), name: p.string().groups('read') },
  } as Any);
  const Elsewhere = defineEntity({
    name: 'Elsewhere',
    schema: 'other',
    properties: { id: id(), text: text() },
  });
  return [Address, Tag, Note, Person, Animal, Dog, Cat, Named, ...(kind === 'postgresql' ? [Elsewhere] : [])];
}

const start = (url: string, models: Any[], schema: SchemaMode, more: Partial<CodeOptions> = {}) => {
  const shown = models.find((model) => /^(?:Person|Item)$/.test(model.meta.className));
  const methods = { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } };
  const apis = { person: { class: shown, base_path: '/person', actions: methods } };
  return startApplication({ app_main: { apis, database: { url, schema } } as Any, models, ...more });
};

describe.each(databases)('on %s', (kind) => {
  let database: FreshDatabase;
  const running: TestApplication[] = [];
  beforeEach(async () => {
    database = await freshDatabase(kind);
  });
  afterEach(async () => {
    for (const app of running.splice(0)) await app.close();
    await database.drop();
  });
  const sql = (one: string) => rowsOf(kind, database.url, one);
  const run = async (models: Any[], schema: SchemaMode, more: Partial<CodeOptions> = {}) => {
    const app = await start(database.url, models, schema, more);
    running.push(app);
    return app;
  };
  const refusal = async (models: Any[], schema: SchemaMode): Promise<string[]> => {
    const error = await run(models, schema).then(
      () => null,
      (one: Error) => one,
    );
    expect(error?.name).toBe('SchemaErrors');
    return (error as Error).message.split('\n');
  };
  const remedy = 'run "declarest migrate create" and "declarest migrate up", or set app_main.database.schema to update';

  test('check accepts a schema that update created, for models of every shape', async () => {
    await (await run(shapes(kind), 'update')).close();
    running.length = 0;
    const app = await run(shapes(kind), 'check');
    expect((await app.request('POST', '/person.json', { json: { name: 'Ada' } })).status).toBe(201);
    expect((await app.request('GET', '/person/1.json')).json).toMatchObject({ name: 'Ada', loud: 'ADA', mood: 'glad' });
    expect((await app.request('GET', '/health/ready')).status).toBe(200);
  });

  test('check rejects an empty database, lists every table, and creates nothing', async () => {
    const lines = await refusal(shapes(kind), 'check');
    const last = lines.pop();
    expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(
      ['Animal', 'Named', 'Note', 'Person', 'Person.tags', 'Tag', ...(kind === 'postgresql' ? ['Elsewhere'] : [])].sort(),
    );
    expect(lines).toContain(`Person: the table person does not exist; ${remedy}`);
    expect(lines).toContain(`Named: the view named does not exist; ${remedy}`);
    expect(last).toMatch(new RegExp(`^${lines.length} differences between the models and the database (sqlite|postgresql):`));
    expect(last).not.toMatch(/password/);
    const tables = kind === 'sqlite' ? 'select name from sqlite_master' : "select 1 from pg_tables where schemaname = 'public'";
    expect(await sql(tables)).toEqual([]);
  });

  test('check lists every missing column with its property', async () => {
    await (await run(shapes(kind), 'update')).close();
    running.length = 0;
    await sql('drop view named');
    await sql('drop index if exists person_about_type_about_id_index');
    for (const [table, column] of [
      ['person', 'home_city'],
      ['person', 'kept'],
      ['person', 'about_id'],
      ['animal', 'barks'],
    ])
      await sql(`alter table ${table} drop column ${column}`);
    await sql('create view named as select id from person');
    const lines = await refusal(shapes(kind), 'check');
    lines.pop();
    expect(lines.map((line) => /^(\S+): the (?:table|view) (\S+) has no column (\w+); needed: /.exec(line)?.slice(1))).toEqual(
      expect.arrayContaining([
        ['Person.home.city', 'person', 'home_city'],
        ['Person.kept', 'person', 'kept'],
        ['Person.about', 'person', 'about_id'],
        ['Dog.barks', 'animal', 'barks'],
        ['Named.name', 'named', 'name'],
      ]),
    );
    expect(lines).toHaveLength(5);
  });

  const Item = (properties: object) => defineEntity({ name: 'Item', properties: { id: id(), ...properties } } as Any);
  const create = {
    sqlite: 'create table item (id integer primary key, name text not null',
    postgresql: 'create table item (id serial primary key, name varchar(50) not null',
  }[kind];
  const name = () => p.string().length(50).groups('read', 'write');

  test('check ignores columns, tables, indexes and constraints that are not in the models', async () => {
    await sql(`${create}, further text, counted integer not null default 1)`);
    await sql('create unique index own on item (name)');
    await sql('create table stranger (a integer not null)');
    const app = await run([Item({ name: name() })], 'check');
    expect((await app.request('POST', '/person.json', { json: { name: 'x' } })).status).toBe(201);
  });

  test('check resolves table names like SQL statements do', async () => {
    const other = kind === 'sqlite' ? 'create table ITEM' : 'create schema own; create table own.item';
    await sql(create.replace('create table item', other).concat(')'));
    const url = kind === 'sqlite' ? database.url : `${database.url}?options=-c%20search_path%3Down`;
    const app = await start(url, [Item({ name: name() })], 'check');
    running.push(app);
    expect((await app.request('POST', '/person.json', { json: { name: 'x' } })).status).toBe(201);
    expect((await app.request('GET', '/health/ready')).status).toBe(200);
  });

  test('check lists columns that make writes fail: unknown and required, no default, not nullable', async () => {
    const state = `state ${kind === 'sqlite' ? 'text' : 'varchar(255)'} not null`;
    await sql(`${create}, code text not null, note text not null, ${state}, version integer not null)`);
    const properties = { note: p.text().nullable(), state: p.string().default('new'), version: p.integer().version() };
    const lines = await refusal([Item({ name: name(), ...properties })], 'check');
    expect(lines).toEqual([
      expect.stringMatching(/^Item\.note: the column item\.note refuses null; needed: a column that accepts it; /),
      expect.stringMatching(/^Item\.version: the column item\.version has no default; needed: default 1; /),
      expect.stringMatching(
        /^Item: the column item\.code \(text\) requires a value, but no property maps to it, so no row can be inserted; /,
      ),
      expect.stringMatching(/^3 differences /),
    ]);
  });

  test('check lists a primary key that does not generate values', async () => {
    await sql('create table item (id bigint primary key, name text not null)');
    const lines = await refusal([Item({ name: name() })], 'check');
    expect(lines[0]).toMatch(/^Item\.id: the column item\.id does not generate numbers; /);
  });

  test('update adds tables, columns and indexes, and reports every statement', async () => {
    await sql(`${create})`);
    await sql("insert into item (name) values ('chair')");
    const told: string[] = [];
    const Part = defineEntity({ name: 'Part', properties: { id: id(), text: text() } });
    const models = [
      Item({
        name: name().index(),
        state: p.string().default('new').groups('read'),
        part: () => p.manyToOne(Part).nullable().groups('read', 'write'),
        parts: () => p.manyToMany(Part),
      }),
      Part,
    ];
    const app = await run(models, 'update', { onStatement: (one) => told.push(one) });
    expect((await app.request('GET', '/person/1.json')).json).toEqual({ id: 1, name: 'chair', state: 'new', part: null });
    await app.close();
    running.length = 0;
    expect(told.filter((one) => /^create table/.test(one)).length).toBe(2);
    await run(models, 'check');
    const second: string[] = [];
    await run(models, 'update', { onStatement: (one) => second.push(one) });
    expect(second.filter((one) => /^(?:create|alter|drop)/i.test(one))).toEqual([]);
  });

  test('update lists everything that it cannot add, and changes nothing', async () => {
    await sql(`${create}, code text not null, state integer)`);
    await sql("insert into item (name, code, state) values ('chair', 'a', 1)");
    await sql("insert into item (name, code, state) values ('chair', 'b', 2)");
    const models = [
      Item({
        name: name().unique(),
        state: p.string().nullable().groups('read'),
        owner: p.string().groups('read'),
        further: p.string().nullable().groups('read'),
      }),
    ];
    const before = await sql('select * from item');
    const lines = await refusal(models, 'update');
    expect(lines).toEqual([
      expect.stringMatching(/^Item\.state: the column item\.state is integer; needed: (text|varchar\(255\)); /),
      expect.stringMatching(
        /^Item\.owner: the table item has no column owner; needed: .* not null; rows exist and would have no value$/,
      ),
      expect.stringMatching(/^Item: the column item\.code \(text\) requires a value/),
      expect.stringMatching(/unique.*: .*(?:UNIQUE constraint failed|could not create unique index)/i),
      expect.stringMatching(/^4 differences .*; nothing was changed$/),
      'Existing rows need a value in every new required column. Choose one:',
      expect.stringMatching(/^- discard all data, .*(?:delete the files .*\*|use an empty database), then start again$/),
      '- give the property a default',
      '- make the property nullable, start again, set its value in every row, then make it required',
    ]);
    expect(await sql('select * from item')).toEqual(before);
  });

  test('update adds a required column to an empty table', async () => {
    await sql(`${create})`);
    const app = await run([Item({ name: name(), owner: text() })], 'update');
    expect((await app.request('POST', '/person.json', { json: { name: 'a', owner: 'b' } })).status).toBe(201);
  });

  test('update does not change existing enums and constraints', async () => {
    await (await run([Item({ name: name(), state: p.enum(['a', 'b']).groups('read'), gone: text() })], 'update')).close();
    running.length = 0;
    await sql("insert into item (name, state, gone) values ('chair', 'a', 'kept')");
    const lines = await refusal([Item({ name: name(), state: p.enum(['a', 'b', 'c']), gone: text() })], 'update');
    expect(lines[0]).toMatch(/^Item\.state: the column item\.state refuses the value c; /);
    expect(await sql('select name, state, gone from item')).toEqual([{ name: 'chair', state: 'a', gone: 'kept' }]);
  });
});
