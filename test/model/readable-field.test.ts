import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineEntity, MikroORM, p } from '@mikro-orm/core';
import { SqliteDriver } from '@mikro-orm/sql';
import { describe, expect, test } from 'vitest';
import type { Mapper } from '../../src/database/mapper.ts';
import { planFields } from '../../src/model/field-plan.ts';
import { registerNormalizations } from '../../src/model/normalization.ts';
import { aggregatedPath, readableField, readableProperty } from '../../src/model/readable-field.ts';

type Any = any;

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { city: p.string().groups('read'), vault: p.string() },
});
const Center: Any = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read').serializedName('title'),
    budget: p.integer(),
    address: () => p.embedded(Address).groups('read'),
    pets: () => (p.oneToMany(Pet as Any) as Any).mappedBy('center').groups('read'),
  },
});
const Pet: Any = defineEntity({
  name: 'Pet',
  abstract: true,
  discriminatorColumn: 'type',
  discriminatorMap: { dog: 'Dog', cat: 'Cat' } as Any,
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string().groups('read'),
    name: p.string().groups('read'),
    secret: p.string().hidden().groups('read'),
    masked: p
      .string()
      .groups('read')
      .serializer(() => '***'),
    center: () => (p.manyToOne(Center as Any) as Any).groups('read'),
    toys: () => (p.oneToMany(Toy as Any) as Any).mappedBy('pet'),
  },
});
const Toy: Any = defineEntity({
  name: 'Toy',
  properties: {
    id: p.integer().primary().groups('read'),
    pet: () => p.manyToOne(Pet as Any),
    dog: () => p.manyToOne(Dog as Any),
  },
});
const Kennel: Any = defineEntity({
  name: 'Kennel',
  properties: { row: p.integer().primary(), place: p.integer().primary(), name: p.string().groups('read') },
});
const Dog = defineEntity({
  name: 'Dog',
  extends: Pet as Any,
  discriminatorValue: 'dog',
  properties: {
    barks: p.integer().nullable().groups('read'),
    chip: p.string().nullable().groups('read'),
    sound: p.string().nullable().groups('read').fieldName('sound'),
    bones: () => (p.oneToMany(Toy as Any) as Any).mappedBy('dog').groups('read'),
    kennel: () => (p.manyToOne(Kennel as Any) as Any).nullable().fieldNames('kennel_row', 'kennel_place').groups('read'),
  },
});
const Cat = defineEntity({
  name: 'Cat',
  extends: Pet as Any,
  discriminatorValue: 'cat',
  properties: {
    chip: p.string().nullable(),
    purr: p.string().nullable().fieldName('sound'),
    home: () => (p.manyToOne(Kennel as Any) as Any).nullable().fieldNames('kennel_row', 'home_place'),
  },
});

const mapper = new MikroORM({
  driver: SqliteDriver as Any,
  dbName: ':memory:',
  entities: [Address, Center, Pet, Toy, Kennel, Dog, Cat] as Any,
  discovery: { warnWhenNoEntities: false },
} as Any) as unknown as Mapper;
const planOf = (name: string, groups = ['read']) => planFields(mapper, mapper.getMetadata().get(name as never) as Any, groups);
const kindOf = (path: string, model = 'Pet') => readableField(planOf(model), path)?.field.kind ?? null;

describe('the readable field at a path', () => {
  test('is a field in the active groups, by its JSON name', () => {
    expect(kindOf('name')).toBe('scalar');
    expect(kindOf('title', 'Center')).toBe('scalar');
    expect(kindOf('name', 'Center')).toBeNull();
    expect(readableProperty(planOf('Center'), 'name')?.field.name).toBe('title');
  });

  test('can be inside associations and embeddables', () => {
    expect(readableField(planOf('Pet'), 'center.title')?.fields.map(({ kind }) => kind)).toEqual(['to-one', 'scalar']);
    expect(kindOf('center.address.city')).toBe('scalar');
    expect(kindOf('pets.name', 'Center')).toBe('scalar');
  });

  test.each(['secret', 'center.budget', 'center.address.vault', 'nothing', '', 'name.length', 'constructor', '__proto__.name'])(
    'does not exist at %j',
    (path) => {
      expect(readableField(planOf('Pet'), path)).toBeNull();
    },
  );

  test('does not exist without groups', () => {
    expect(readableField(planOf('Pet', []), 'name')).toBeNull();
    expect(readableField(planOf('Pet', ['other']), 'name')).toBeNull();
  });

  test('does not exist below an association that is cut to its reference', () => {
    expect(kindOf('center.pets.id')).toBe('scalar');
    expect(kindOf('center.pets.name')).toBeNull();
  });

  test('can belong to some classes only, unless another class has it and hides it', () => {
    expect(kindOf('barks')).toBe('scalar');
    expect(kindOf('chip')).toBeNull();
    expect(kindOf('sound')).toBeNull();
    expect(kindOf('bones')).toBe('to-many');
    expect([kindOf('kennel.name'), kindOf('kennel.name', 'Dog')]).toEqual([null, 'scalar']);
    expect(kindOf('chip', 'Dog')).toBe('scalar');
  });

  test('is not marked as stored if the model serializes it differently', () => {
    expect(readableField(planOf('Pet'), 'name')?.isStored).toBe(true);
    expect(readableField(planOf('Pet'), 'masked')?.isStored).toBe(false);
  });
});

test('a field that a normalizer replaces is not marked as stored', () => {
  const isStored = (place: string) => {
    registerNormalizations(mapper, new Map([[place, { by: 'Short', schema: {}, normalize: String }]]));
    return ['name', 'center.title'].map((path) => readableField(planOf('Pet'), path)?.isStored);
  };
  expect(['Toy', 'Pet', 'Pet.name', 'Center', 'Center.name'].map(isStored)).toEqual([
    [true, true],
    [false, false],
    [false, true],
    [true, false],
    [true, false],
  ]);
  registerNormalizations(mapper, new Map());
});

test('the path of an aggregate is the whole name of a field, or the name before the function', () => {
  const plan = planOf('Pet');
  expect(
    ['barks:sum', 'center.title:max', 'name', 'a:b:max', 'barks:', 'barks:sum '].map((name) => aggregatedPath(plan, name)),
  ).toEqual(['barks', 'center.title', 'name', 'a:b', 'barks:', 'barks:sum ']);
  const field = [...planOf('Dog').variants.values()].flat().find(({ name }) => name === 'barks');
  const metadata = { ...field?.metadata, serializedName: 'bark:max' };
  const named = { variants: new Map([[{}, [{ ...field, metadata }]]]) } as Any;
  expect(aggregatedPath(named, 'bark:max')).toBe('bark:max');
});

test('only one file reads the groups and the hidden flag of a property', () => {
  const src = join(import.meta.dirname, '../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const looking = files.filter((name) =>
    /\b(?:property|metadata|prop)\??\.(?:groups|hidden)\b/.test(readFileSync(join(src, name), 'utf8')),
  );
  expect(looking).toEqual([join('model', 'groups.ts')]);
});
