// Names and objects that code generators stumble over: each becomes a model that starts, or is listed with the reason.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { openModels, pullInto, runSql } from './databases.ts';

const wide = Array.from({ length: 200 }, (_, index) => `c${index} integer`).join(', ');

/** Statements that both databases accept. */
const common = `
create table "class" (id integer primary key, "constructor" text, "__proto__" text, "prototype" text, "then" text, "toJSON" text, "hasOwnProperty" text, "default" text, "new" text, "await" text);
create table "constructor" (id integer primary key, "toString" text);
create table "__proto__" (id integer primary key, name text);
create table "select" (id integer primary key, "from" text not null default 'x', "order" integer, "group" text, "where" text);
create table "Order Lines" (id integer primary key, "first name" text, "first_name" text, "firstName" text, "FIRST-NAME" text);
create table order_lines (id integer primary key, note text);
create table "orderLines2" (id integer primary key, note text);
create table "größe" (id integer primary key, "größe" text, "naïve" text, "日本" text, "😀" text);
create table "日本" (id integer primary key, "名" text);
create table "1st" (id integer primary key, "2nd" text);
create table "object" (id integer primary key, "p" text, "em" text, "props" text);
create table "em" (id integer primary key);
create table "p" (id integer primary key, "defineEntity" text);
create table "Entity" (id integer primary key);
create table "don't" (id integer primary key, "it's" text, "a -- b" text, "/* */" text);
create table "a""b" (id integer primary key);
create table "back\`tick" (id integer primary key);
create table "dot.ted" (id integer primary key);
create table "\${1}" (id integer primary key, "\${x}" text, "bad?" text, "bad.dot" text);
create table wide (id integer primary key, ${wide});
create table keyless (a integer, b text);
create table twofold (a integer not null, b integer not null, note text, primary key (a, b));
create table part (id integer primary key, a integer, b integer, foreign key (a, b) references twofold (a, b));
create table node (id integer primary key, parent_id integer references node, "parent" text);
create table egg (id integer primary key);
create table hen (id integer primary key, egg_id integer not null references egg);
create table owned (id integer primary key references egg, name text);
create table doubled (id integer primary key, a integer not null, twice integer generated always as (a * 2) stored);
create table odd_labels (id integer primary key, kind text not null check (kind in ('it''s', '', 'a b', 'ä', '"q"')));
create view class_view as select id, "constructor", "then" from "class";
create view node_names as select id as node_id, "parent" from node;
create view "odd view" as select id, 'it''s -- */ ' as "it's" from egg;
create view no_key as select "parent" from node;
`;

const only: Record<DatabaseKind, string> = {
  sqlite: `
create table loose (id integer primary key, anything, "any" any);
create table strictly (id integer primary key, a text) strict;
create table textual (code text primary key, a text) without rowid;
create virtual table search using fts5(body);
create view with_columns (id, title) as select id, note from order_lines;
create table gone (id integer primary key);
create view broken as select id from gone;
drop table gone;
`,
  postgresql: `
alter table egg add column hen_id integer references hen;
create type mood as enum ('it''s', 'a b', '', 'ä', 'with "quotes"', 'comma,');
create domain positive as integer check (value > 0);
create domain label as varchar(20) not null default 'none';
create type point3 as (x integer, y integer);
create table typed (id serial primary key, mood mood, moods mood[], positive positive, label label, list text[], grid integer[][], span int4range, spot point, triple point3, doc jsonb, bits bit(3), amount money, net inet, took interval, words tsvector, big bigint, raw bytea, uid uuid, xml xml);
create table parted (id integer not null, at date not null, primary key (id, at)) partition by range (at);
create table parted_2026 partition of parted for values from ('2026-01-01') to ('2027-01-01');
create table animal (id integer primary key, name text);
create table cat (lives integer) inherits (animal);
create table kitten (primary key (id)) inherits (cat);
drop foreign data wrapper if exists nowhere cascade;
create foreign data wrapper nowhere;
create server nowhere foreign data wrapper nowhere;
create foreign table distant (id integer, name text) server nowhere;
create schema "odd schema";
create table "odd schema".node (id integer primary key, parent_id integer references public.node);
create materialized view counted as select 1 as id, count(*) as total from egg;
create unique index on counted (id);
create unlogged table quick (id integer generated always as identity primary key);
create extension if not exists pg_stat_statements;
`,
};

/** What cannot become a model, with the reason. */
const skipped: Record<DatabaseKind, readonly string[]> = {
  sqlite: [
    'broken: its query is invalid: no such table: main.gone',
    'search: it is a virtual table',
    'search_config: it belongs to a virtual table',
    'with_columns: its query cannot be read; declare a model for it by hand',
  ],
  postgresql: [
    'cat: it has no primary key',
    'distant: it has no primary key',
    'parted_2026: it is a partition of parted',
    'pg_stat_statements: it belongs to the extension pg_stat_statements',
  ],
};

/** Objects that other statements create: the tables of a virtual table without the one that is dropped. */
const further: Record<DatabaseKind, number> = { sqlite: 4, postgresql: 0 };

const skippedEverywhere = [
  'Class: the column __proto__ (text): its name is __proto__',
  '__proto__: its name is __proto__',
  'a"b: its name contains "',
  'back`tick: its name contains `',
  'dot.ted: its name contains .',
  'keyless: it has no primary key',
  'no_key: it is a view without a column id; declare a model for it by hand',
];

describe.each(databases)('declarest pull of hostile names and objects on %s', (kind) => {
  test('makes models that start and serve rows, and lists all other objects with the reason', async () => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, common + only[kind]);
    await runSql(
      kind,
      database,
      `insert into "class" (id, "constructor", "__proto__", "then", "toJSON") values (1, 'a', 'b', 'c', 'd');
       insert into "don't" (id, "it's") values (1, 'quoted'); insert into "größe" (id, "größe") values (1, 'groß')`,
    );
    const { code, directory, err, out } = await pullInto(database.url);
    expect([code, err]).toEqual([0, '']);
    for (const line of [...skippedEverywhere, ...skipped[kind]]) expect(out).toContain(`skipped ${line}\n`);
    const models = readdirSync(join(directory, 'src/models'));
    const created = (common + only[kind]).match(/^create (?:\w+ )?(?:table|view) /gm) ?? [];
    const omitted = out.match(/^skipped (?!\S+: the (?:column|foreign key) )(?!.*: it belongs to the extension )/gm) ?? [];
    expect(models.length + omitted.length).toBe(created.length + further[kind]);
    expect(models).toEqual(expect.arrayContaining(['class.ts', 'class-view.ts', 'node-names.ts', 'odd-view.ts', 'wide.ts']));

    openModels(directory, ['GET']);
    const app = await startApplication({ directory, env: { DATABASE_URL: database.url } });
    onTestFinished(() => app.close());
    const get = (path: string) => app.request('GET', path, { as: { id: 1, roles: ['ROLE_USER'] } });
    const { paths } = (await get('/openapi.json')).json as { paths: Record<string, object> };
    const lists = Object.keys(paths).filter((path) => path.startsWith('/api/') && !path.includes('{id}'));
    expect(lists.length).toBeGreaterThan(20);
    for (const path of lists) {
      const { json, status } = await get(encodeURI(path.replace('{_format}', 'json')));
      expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, '']);
    }
    const row = (await get('/api/class/1.json')).json;
    expect(row).toMatchObject({ constructorValue: 'a', thenValue: 'c', toJSONValue: 'd' });
    expect((await get('/api/class-view/1.json')).json).toMatchObject({ constructorValue: 'a', thenValue: 'c' });
  });

  test('makes views read-only, in an application that can be installed', async () => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, 'create table egg (id integer primary key); create view fresh_egg as select id from egg;');
    const { directory } = await pullInto(database.url);
    openModels(directory, ['GET']);
    const config = join(directory, 'config/apis.yaml');
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replaceAll('_index: { methods: { GET', '_index: { methods: { POST: true, GET'),
    );
    expect(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))).toMatchObject({
      type: 'module',
      scripts: { start: 'declarest serve' },
      dependencies: { declarest: expect.any(String), fastify: expect.any(String), '@mikro-orm/core': expect.any(String) },
    });
    await expect(startApplication({ directory, env: { DATABASE_URL: database.url } })).rejects.toThrow(
      'FreshEgg is a view, which cannot be written; remove POST',
    );
  });
});
