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

test('a table that is rebuilt on SQLite keeps columns that no model has, and views of it', async () => {
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
    /would drop person\.phone, which no model has, with all data in it; nothing was changed/,
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
