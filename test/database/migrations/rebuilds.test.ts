import { join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, expect, test } from 'vitest';
import { applyMigrations } from '../../../src/database/migrations/apply.ts';
import { createMigration } from '../../../src/database/migrations/create-migration.ts';
import { freshDatabase } from '../../support/databases.ts';
import { makeTemporary } from '../../support/temporary.ts';
import { declared, withMapper } from './migrated.ts';

const temporary = makeTemporary('rebuilds');
afterAll(temporary.remove);

const options = { renames: [], fills: [], allowDrop: false, empty: false };
const person = (properties: object) =>
  defineEntity({ name: 'Person', properties: { id: p.integer().primary(), ...properties } as never });

test('a table rebuild on SQLite keeps views, and fails if it would drop a column that no model declares', async () => {
  const fresh = await freshDatabase('sqlite');
  const directory = temporary.directory;
  const up = (entity: unknown, before?: string) =>
    withMapper(fresh.url, [entity], async (mapper) => {
      if (before) await mapper.em.fork().execute(before);
      await createMigration({ mapper, directory, extensions: [] }, options).catch(() => null);
      await applyMigrations({ mapper, directory, database: declared(fresh.url), seed: null });
      return mapper.em.fork().execute('select * from person');
    });
  await up(person({ name: p.string() }));
  const nullable = person({ name: p.string().nullable() });
  await withMapper(fresh.url, [], async (mapper) => {
    await mapper.em.fork().execute('create view names as select name from person');
    await mapper.em.fork().execute('alter table person add column phone text');
    await mapper.em.fork().execute("insert into person (name, phone) values ('Ada', '123')");
  });
  await expect(up(nullable)).rejects.toThrow(
    /would drop person\.phone, which no model has, with all their data; nothing was changed/,
  );
  await withMapper(fresh.url, [], async (mapper) => {
    expect(await mapper.em.fork().execute('select name, phone from person')).toEqual([{ name: 'Ada', phone: '123' }]);
  });
  expect(await up(nullable, 'alter table person drop column phone')).toEqual([{ id: 1, name: 'Ada' }]);
  await withMapper(fresh.url, [], async (mapper) => {
    expect(await mapper.em.fork().execute('select name from names')).toEqual([{ name: 'Ada' }]);
  });
  await fresh.drop();
});

test('a rebuild of a table on SQLite keeps unknown indexes and triggers, except on dropped columns', async () => {
  const fresh = await freshDatabase('sqlite');
  const directory = join(temporary.directory, 'kept');
  const run = (sql: string) => withMapper(fresh.url, [], async (mapper) => mapper.em.fork().execute(sql));
  const up = (entity: unknown) =>
    withMapper(fresh.url, [entity], async (mapper) => {
      await createMigration({ mapper, directory, extensions: [] }, { ...options, allowDrop: true });
      await applyMigrations({ mapper, directory, database: declared(fresh.url), seed: null });
    });
  const kept = async () => {
    const rows = await run(
      "select name from sqlite_schema where tbl_name = 'person' and type in ('index', 'trigger') order by name",
    );
    return (rows as unknown as { name: string }[]).map(({ name }) => name);
  };
  const known = { name: p.string().index('person_name'), code: p.string().nullable() };
  await up(person({ ...known, city: p.string().index('person_city') }));
  await run('create table log (text text)');
  for (const sql of [
    'create index own_name on person (lower(name)) where name is not null',
    'create unique index own_city on person (name, city)',
    "create trigger own_log after insert on person begin insert into log values ('new; ' || new.name); end",
    'create trigger own_city_log after update of city on person begin insert into log values (new.city); end',
  ])
    await run(sql);
  // a rebuild of all: a column is nullable now, one is dropped, an index of the models is gone
  await up(person({ name: p.string().nullable().index('person_name'), code: p.string().nullable() }));
  expect(await kept()).toEqual(['own_log', 'own_name', 'person_name']);
  await up(person({ name: p.string().nullable(), code: p.string().nullable().default('x') }));
  expect(await kept()).toEqual(['own_log', 'own_name']);
  await run("insert into person (name) values ('Ada')");
  expect(await run('select text from log')).toEqual([{ text: 'new; Ada' }]);
  expect(await withMapper(fresh.url, [], (mapper) => mapper.em.fork().execute('pragma integrity_check'))).toEqual([
    { integrity_check: 'ok' },
  ]);
  await fresh.drop();
});
