import { defineEntity, type EntityMetadata, p } from '@mikro-orm/core';
import { afterAll, describe, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { planFields } from '../../src/model/field-plan.ts';
import { readableField } from '../../src/model/readable-field.ts';

const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary().groups('read'), boats: () => p.oneToMany(Boat).mappedBy('captain') },
});
const Car = defineEntity({
  name: 'Car',
  properties: {
    id: p.integer().primary().groups('read'),
    size: p.integer().groups('read'),
    label: p.string().groups('read'),
    weight: p.integer().groups('read'),
    seats: p.integer().groups('read'),
    code: p.string().serializedName('mark').groups('read'),
    seller: () => p.manyToOne(Person).groups('read'),
    title: p.string().persist(false).getter().groups('read'),
    drivers: () => p.manyToMany(Person).groups('read'),
  },
});
const Boat = defineEntity({
  name: 'Boat',
  properties: {
    id: p.integer().primary().groups('read'),
    size: p.integer().groups('read'),
    label: p.string().fieldName('boat_label').groups('read'),
    weight: p.integer().fieldName('boat_weight'),
    sign: p.string().fieldName('code').serializedName('mark').groups('read'),
    seller: p.integer().fieldName('seller_id').groups('read'),
    captain: () => p.manyToOne(Person).nullable(),
    crew: () => p.manyToMany(Person),
  },
});
const Garage = defineEntity({
  name: 'Garage',
  properties: {
    id: p.integer().primary().groups('read'),
    item: () => p.manyToOne([Car, Boat]).groups('read'),
    car: () => p.manyToOne(Car).groups('read'),
    boxed: () =>
      p
        .manyToOne(Car)
        .groups('read')
        .serializer(() => 'a car'),
  },
});

const database = { url: 'sqlite::memory:', statementTimeout: 0 } as DatabaseDeclaration;
const mapper = await createMapper(database, { entities: [Person, Car, Boat, Garage], directory: '.' });
afterAll(() => mapper.close());
const garage = [...mapper.getMetadata().getAll().values()].find(({ className }) => className === 'Garage') as EntityMetadata;
const read = (path: string) => readableField(planFields(mapper, garage, ['read']), path);

describe('rows that can be of several classes', () => {
  test('a field is readable if all of them show it from the same column', () => {
    expect(read('item.id')?.field.kind).toBe('scalar');
    expect(read('item.size')?.field.kind).toBe('scalar');
  });

  test('a field is readable if the other classes lack it, with or without columns', () => {
    for (const path of ['item.seats', 'item.title', 'item.drivers']) expect([path, read(path) !== null]).toEqual([path, true]);
  });

  test.each([
    ['label', 'that is another column in one of them'],
    ['mark', 'that is another property in one of them'],
    ['seller', 'that is a row in one of them and a number in another'],
    ['weight', 'that one of them has and does not show'],
  ])('%s is not readable: a field %s', (name) => {
    expect(read(`item.${name}`)).toBeNull();
    expect(read(`car.${name}`)).not.toBeNull();
  });
});

describe('a value equals its stored value', () => {
  test.each([
    ['car.size', true],
    ['item.size', true],
    ['car.seller', true],
    ['car.title', false],
    ['boxed', false],
    ['boxed.size', false],
    ['boxed.title', false],
  ])('%s: %s', (path, isStored) => {
    expect(read(path)).toMatchObject({ isStored });
  });
});
