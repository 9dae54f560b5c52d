import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, describe, expect, test } from 'vitest';
import { applyMigrations, revertMigration } from '../../../src/database/migrations/apply.ts';
import { changesSince, createMigration } from '../../../src/database/migrations/create-migration.ts';
import { databases, freshDatabase } from '../../support/databases.ts';
import { makeTemporary } from '../../support/temporary.ts';
import { createdSchema, declared, foundSchema, withMapper } from './migrated.ts';

const temporary = makeTemporary('migrations');
afterAll(temporary.remove);

const Team = defineEntity({
  name: 'Team',
  properties: { id: p.uuid().primary(), name: p.string().length(40).unique(), parent: () => p.manyToOne(Team).nullable() },
});

const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { street: p.string().nullable(), zip: p.string().length(5) },
});

const Animal = defineEntity({
  name: 'Animal',
  discriminatorColumn: 'type',
  abstract: true,
  properties: { id: p.integer().primary(), type: p.enum(['cat', 'dog']) },
});
const Cat = defineEntity({ name: 'Cat', extends: Animal, discriminatorValue: 'cat', properties: { lives: p.smallint() } });
const Dog = defineEntity({ name: 'Dog', extends: Animal, discriminatorValue: 'dog', properties: { bark: p.float() } });

const Person = defineEntity({
  name: 'Person',
  checks: [{ name: 'person_age_check', expression: 'age >= 0' }],
  indexes: [{ properties: ['name', 'born'] }],
  uniques: [{ properties: ['team', 'name'] }],
  properties: {
    id: p.bigint().primary(),
    name: p.string(),
    note: p.text().nullable(),
    age: p.integer().default(0),
    state: p.enum(['new', "it's old"]).default('new'),
    isActive: p.boolean().default(true),
    height: p.double().nullable(),
    price: p.decimal().precision(12).scale(3).default('1.500'),
    born: p.date().nullable(),
    wakes: p.time().nullable(),
    created: p.datetime().defaultRaw('current_timestamp'),
    data: p.json<object>().nullable(),
    tags: p.array().nullable(),
    photo: p.blob().nullable(),
    version: p.integer().version(),
    place: () => p.embedded(Place),
    team: () => p.manyToOne(Team),
    friends: () => p.manyToMany(Person),
    pet: () => p.oneToOne(Animal).nullable(),
  },
});

const entities = [Team, Place, Animal, Cat, Dog, Person];

describe.each(databases)('a migration with every kind of column on %s', (kind) => {
  test('creates the schema of a new database without differences, and can be reverted', async () => {
    const fresh = await freshDatabase(kind);
    const directory = `${temporary.directory}/${kind}`;
    const options = { renames: [], fills: [], allowDrop: true, empty: false };
    const created = await withMapper(fresh.url, entities, async (mapper) => {
      const migrated = { mapper, directory, extensions: [] };
      await createMigration(migrated, options);
      expect(await changesSince(migrated)).toEqual([]);
      await applyMigrations({ mapper, directory, database: declared(fresh.url), seed: null });
      return foundSchema(mapper);
    });
    expect(created).toEqual(await createdSchema(kind, entities));
    await withMapper(fresh.url, [], async (mapper) => {
      await createMigration({ mapper, directory, extensions: [] }, options);
      await applyMigrations({ mapper, directory, database: declared(fresh.url), seed: null });
      expect(await foundSchema(mapper)).toMatchObject({ tables: [] });
      await revertMigration({ mapper, directory, database: declared(fresh.url), seed: null });
      expect(await foundSchema(mapper)).toEqual(created);
    });
    await fresh.drop();
  });
});
