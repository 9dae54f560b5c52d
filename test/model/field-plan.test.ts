import { defineEntity, type EntityMetadata, p } from '@mikro-orm/core';
import { afterAll, describe, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import {
  type AssociationField,
  discriminatorKey,
  type EmbeddedField,
  embeddedTargets,
  type Field,
  type FieldPlan,
  hidesParts,
  isBlank,
  isNormalized,
  isSamePlan,
  jsonName,
  ownProperties,
  planFields,
  targetsOf,
} from '../../src/model/field-plan.ts';
import { type Normalization, registerNormalizations } from '../../src/model/normalization.ts';
import { clinicModels } from '../spec/fixtures/clinic.ts';

const Engine = defineEntity({
  name: 'Engine',
  embeddable: true,
  abstract: true,
  discriminatorColumn: 'kind',
  properties: { kind: p.enum(['petrol', 'electric']).groups('read'), power: p.integer().groups('read') },
});
const Petrol = defineEntity({
  name: 'Petrol',
  embeddable: true,
  extends: Engine,
  discriminatorValue: 'petrol',
  properties: { tank: p.integer().groups('read'), serial: p.string() },
});
const Electric = defineEntity({
  name: 'Electric',
  embeddable: true,
  extends: Engine,
  discriminatorValue: 'electric',
  properties: { battery: p.integer().groups('read') },
});
const Part = defineEntity({
  name: 'Part',
  embeddable: true,
  properties: {
    label: p.string().groups('read'),
    price: p.integer(),
    seller: () => p.manyToOne(Owner).nullable().groups('read'),
  },
});
const Badge = defineEntity({
  name: 'Badge',
  embeddable: true,
  properties: {
    text: p.string().nullable().groups('read'),
    shown: p.string().persist(false).getter(),
    part: () => p.embedded(Part).array().nullable().groups('read'),
    size: () => p.embedded(Size).nullable().groups('read'),
    loud: p.string().persist(false).getter().groups('read'),
  },
});
const Size = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: { width: p.integer().nullable().groups('read'), height: p.integer().nullable().groups('read') },
});
const Owner = defineEntity({
  name: 'Owner',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    pin: p.string().groups('write'),
    tool: () => p.embedded(Part).nullable().groups('read'),
    box: () => p.embedded(Part).groups('parts'),
    parts: () => p.embedded(Part).array().nullable().groups('parts'),
    badge: () => p.embedded(Badge).nullable().groups('parts'),
    lender: () => p.manyToOne([Car, Owner]).nullable().groups('lender'),
    cars: () => p.oneToMany(Car).mappedBy('owner').groups('read'),
  },
});
const Car = defineEntity({
  name: 'Car',
  properties: {
    id: p.integer().primary().groups('read'),
    plate: p.string().serializedName('license_plate').groups('read', 'list'),
    secret: p.string(),
    hiddenToo: p.string().hidden().groups('read'),
    title: p.string().persist(false).getter().groups('read'),
    doubled: p
      .integer()
      .formula((columns) => `${columns.id} * 2`)
      .groups('read'),
    engine: () => p.embedded([Petrol, Electric]).object().nullable().groups('read'),
    spares: () => p.embedded(Part).array().groups('read'),
    owner: () => p.manyToOne(Owner).groups('read'),
    drivers: () => p.manyToMany(Owner).groups('read', 'drivers'),
    twin: () => p.oneToOne(Car).nullable().groups('read'),
    keeper: () => p.manyToOne([Owner, Car]).nullable().groups('keeper'),
  },
});

const database = { url: 'sqlite::memory:', statementTimeout: 0 } as DatabaseDeclaration;
const garage = await createMapper(database, {
  entities: [Engine, Petrol, Electric, Part, Badge, Size, Owner, Car],
  directory: '.',
});
const clinic = await createMapper(database, { entities: clinicModels, directory: '.' });
afterAll(() => Promise.all([garage.close(), clinic.close()]));

const metaIn = (mapper: typeof garage, name: string) =>
  [...mapper.getMetadata().getAll().values()].find(({ className }) => className === name) as EntityMetadata;

/** A plan as classes and their fields: the kind of a value, or what stands below. */
function show({ variants }: FieldPlan): Record<string, Record<string, unknown>> {
  const shown = (field: Field): unknown => {
    if (field.kind === 'scalar') return field.computed ? 'computed' : field.value.kind;
    const note = field.kind === 'embedded' ? field.array : field.cut;
    const mark = field.kind === 'embedded' ? 'array' : 'cut';
    return { [note ? `${field.kind}, ${mark}` : field.kind]: show(field.plan) };
  };
  return Object.fromEntries(
    [...variants].map(([meta, fields]) => [
      meta.className,
      Object.fromEntries(fields.map((field) => [field.name, shown(field)] as const)),
    ]),
  );
}

describe('a plan', () => {
  test('holds only the fields of the active groups, in the order of the model', () => {
    const plan = show(planFields(garage, metaIn(garage, 'Car'), ['read']));
    expect(Object.keys(plan)).toEqual(['Car']);
    expect(Object.keys(plan.Car ?? {})).toEqual([
      'id',
      'license_plate',
      'title',
      'doubled',
      'engine',
      'spares',
      'owner',
      'drivers',
      'twin',
    ]);
    expect(show(planFields(garage, metaIn(garage, 'Car'), ['list']))).toEqual({ Car: { license_plate: 'string' } });
    expect(show(planFields(garage, metaIn(garage, 'Car'), []))).toEqual({ Car: {} });
    expect(show(planFields(garage, metaIn(garage, 'Owner'), ['write', 'list']))).toEqual({ Owner: { pin: 'string' } });
  });

  test('finds a property by its own name and by its JSON name', () => {
    const fields = [...planFields(garage, metaIn(garage, 'Car'), ['list']).variants.values()].flat();
    expect(fields.map(({ property, name, metadata }) => [property, name, metadata.name])).toEqual([
      ['plate', 'license_plate', 'plate'],
    ]);
    const properties = metaIn(garage, 'Car').properties as Record<string, never>;
    expect(jsonName(properties.plate as never)).toBe('license_plate');
    expect(jsonName(properties.id as never)).toBe('id');
  });

  test('separates fields computed by the model from fields computed by the database', () => {
    const car = show(planFields(garage, metaIn(garage, 'Car'), ['read'])).Car;
    expect(car).toMatchObject({ id: 'integer', title: 'computed', doubled: 'integer' });
  });

  test('embeds associations with the fields of the same groups, and cuts recursion', () => {
    expect(show(planFields(garage, metaIn(garage, 'Car'), ['read'])).Car).toMatchObject({
      owner: {
        'to-one': {
          Owner: { id: 'integer', name: 'string', tool: expect.anything(), cars: { 'to-many, cut': { Car: { id: 'integer' } } } },
        },
      },
      drivers: { 'to-many': { Owner: { id: 'integer', name: 'string' } } },
      twin: { 'to-one, cut': { Car: { id: 'integer' } } },
    });
    expect(show(planFields(garage, metaIn(garage, 'Owner'), ['read'])).Owner?.cars).toMatchObject({
      'to-many': { Car: { owner: { 'to-one, cut': { Owner: { id: 'integer' } } } } },
    });
  });

  test('holds no fields of an associated model outside the groups', () => {
    expect(show(planFields(garage, metaIn(garage, 'Car'), ['drivers']))).toEqual({
      Car: { drivers: { 'to-many': { Owner: {} } } },
    });
  });

  test('can have other groups for associated rows', () => {
    const car = show(planFields(garage, metaIn(garage, 'Car'), ['drivers'], ['write'])).Car;
    expect(car).toEqual({ drivers: { 'to-many': { Owner: { pin: 'string' } } } });
  });

  test('of a cut association holds no field outside the groups, not even the key', () => {
    const plan = planFields(clinic, metaIn(clinic, 'Secretive'), ['read']);
    expect(show(plan).Secretive).not.toHaveProperty('id');
  });
});

describe('embeddables', () => {
  test('hold the fields of the groups, for each possible class', () => {
    expect(show(planFields(garage, metaIn(garage, 'Car'), ['read'])).Car?.engine).toEqual({
      embedded: {
        Petrol: { kind: 'enum', power: 'integer', tank: 'integer' },
        Electric: { kind: 'enum', power: 'integer', battery: 'integer' },
      },
    });
  });

  test('that recur through an entity end at the cut of that entity', () => {
    const reference = { 'to-one, cut': { Owner: { id: 'integer' } } };
    const tool = { embedded: { Part: { label: 'string', seller: reference } } };
    const cars = { 'to-many, cut': { Car: { id: 'integer' } } };
    expect(show(planFields(garage, metaIn(garage, 'Car'), ['read'])).Car?.spares).toEqual({
      'embedded, array': {
        Part: { label: 'string', seller: { 'to-one': { Owner: { id: 'integer', name: 'string', tool, cars } } } },
      },
    });
  });

  test('leave no columns among the properties of their owner', () => {
    expect(ownProperties(metaIn(garage, 'Car')).map(({ name }) => name)).toEqual(
      'id plate secret hiddenToo title doubled engine spares owner drivers twin keeper'.split(' '),
    );
  });
});

describe('a hierarchy', () => {
  test('has a plan for each concrete class, without fields of sibling classes', () => {
    const plan = show(planFields(clinic, metaIn(clinic, 'Staff'), ['read']));
    const common = ['id', 'type', 'name', 'mentor', 'trainees', 'ward', 'locker'];
    expect(Object.fromEntries(Object.entries(plan).map(([name, fields]) => [name, Object.keys(fields)]))).toEqual({
      Doctor: [...common, 'specialty', 'patients'],
      Nurse: [...common, 'shift'],
    });
  });

  test('is cut to key and discriminator', () => {
    const reference = { Doctor: { id: 'integer', type: 'enum' }, Nurse: { id: 'integer', type: 'enum' } };
    const plan = show(planFields(clinic, metaIn(clinic, 'Doctor'), ['read']));
    expect(plan.Doctor?.mentor).toEqual({ 'to-one, cut': reference });
    expect(plan.Doctor?.trainees).toEqual({ 'to-many, cut': reference });
    expect(plan.Doctor?.patients).toMatchObject({
      'to-many': { Patient: { doctor: { 'to-one, cut': { Doctor: { id: 'integer', type: 'enum' } } } } },
    });
  });

  test('with a table per class has no discriminator when cut', () => {
    const plan = show(planFields(clinic, metaIn(clinic, 'Equipment'), ['read']));
    expect(plan).toEqual({
      Scanner: { id: 'integer', label: 'string', tesla: 'float' },
      InfusionPump: { id: 'integer', label: 'string', rate: 'integer' },
    });
  });

  test('keeps properties of subclasses out of the root', () => {
    const names = (name: string) => ownProperties(metaIn(clinic, name)).map((property) => property.name as string);
    expect(names('Staff')).not.toContain('specialty');
    expect(names('Staff')).toContain('salary');
    expect(names('Doctor')).toEqual(expect.arrayContaining(['salary', 'specialty']));
    expect(names('Nurse')).not.toContain('specialty');
  });
});

describe('an association of several models', () => {
  test('has a plan for each model', () => {
    expect(show(planFields(clinic, metaIn(clinic, 'Patient'), ['read'])).Patient?.carer).toEqual({
      'to-one': { Visitor: { id: 'integer', name: 'string' }, ThirdParty: { id: 'integer', company: 'string' } },
    });
  });

  test('is cut only if each of them would recurse', () => {
    const [keeper] = [...planFields(garage, metaIn(garage, 'Car'), ['keeper']).variants.values()].flat();
    expect(keeper).toMatchObject({ name: 'keeper', kind: 'to-one', cut: false });
  });

  test('names all models', () => {
    const { carer, doctor, firstName } = metaIn(clinic, 'Patient').properties as unknown as Record<string, never>;
    expect(targetsOf(carer as never).map(({ className }) => className)).toEqual(['Visitor', 'ThirdParty']);
    expect(targetsOf(doctor as never).map(({ className }) => className)).toEqual(['Doctor']);
    expect(targetsOf(firstName as never)).toEqual([]);
    const { keeper } = metaIn(garage, 'Car').properties as unknown as Record<string, never>;
    const { lender } = metaIn(garage, 'Owner').properties as unknown as Record<string, never>;
    expect([keeper as never, lender as never].map((each) => targetsOf(each).map(({ className }) => className))).toEqual([
      ['Owner', 'Car'],
      ['Car', 'Owner'],
    ]);
  });
});

describe('the targets of an embedded property', () => {
  test('are its embeddable, the classes of its map, or empty', () => {
    const { engine, spares, plate } = metaIn(garage, 'Car').properties as unknown as Record<string, never>;
    expect(embeddedTargets(garage, engine as never).map(({ className }) => className)).toEqual(['Electric', 'Petrol']);
    expect(embeddedTargets(garage, spares as never).map(({ className }) => className)).toEqual(['Part']);
    expect(embeddedTargets(garage, plate as never)).toEqual([]);
  });
});

describe('parts of a nullable embedded object', () => {
  const fieldsOf = (name: string, groups: string[]) =>
    [...planFields(garage, metaIn(garage, name), groups).variants.values()].flat();
  const fieldOf = (name: string, property: string, groups: string[]) =>
    fieldsOf(name, groups).find((field) => field.property === property) as EmbeddedField;

  test('are hidden if the plan shows less of a class than it stores', () => {
    expect(hidesParts(fieldOf('Owner', 'tool', ['read']))).toBe(true);
    expect(hidesParts(fieldOf('Car', 'engine', ['read']))).toBe(true);
    // computed parts are not stored
    expect(hidesParts(fieldOf('Owner', 'badge', ['parts', 'read']))).toBe(false);
  });

  test('may be visible if the object is always set, or if it is a list', () => {
    expect(hidesParts(fieldOf('Owner', 'box', ['parts']))).toBe(false);
    expect(hidesParts(fieldOf('Owner', 'parts', ['parts']))).toBe(false);
  });

  test.each<[object, boolean]>([
    [{}, true],
    [{ text: null, part: null, size: null, loud: 'made of nothing' }, true],
    [{ size: { width: null } }, true],
    [{ size: { width: 0 } }, false],
    [{ text: '' }, false],
    [{ part: [] }, false],
    [{ text: null, part: [{}] }, false],
  ])('are all null: %j, %s', (object, expected) => {
    const fields = [...fieldOf('Owner', 'badge', ['parts', 'read']).plan.variants.values()].flat();
    const partOf = (from: object, { property }: Field) => (from as Record<string, unknown>)[property];
    expect(isBlank(fields, object, partOf)).toBe(expected);
  });

  test('are null for one of the classes that the object can have', () => {
    const fields = fieldsOf('Car', ['read']).filter(({ property }) => property === 'engine');
    const partOf = (from: object, { property }: Field) => (from as Record<string, unknown>)[property];
    expect(isBlank(fields, { engine: { battery: 3 } }, partOf)).toBe(true);
    expect(isBlank(fields, { engine: { power: 3 } }, partOf)).toBe(false);
  });
});

describe('two plans', () => {
  const plan = (name: string, groups: string[], embedded = groups) => planFields(garage, metaIn(garage, name), groups, embedded);

  test('are the same if they show the same fields everywhere', () => {
    expect(isSamePlan(plan('Car', ['read']), plan('Car', ['read']))).toBe(true);
    expect(isSamePlan(plan('Car', ['list']), plan('Car', ['list', 'other']))).toBe(true);
  });

  test.each([
    ['models', plan('Car', []), plan('Owner', [])],
    ['numbers of models', planFields(clinic, metaIn(clinic, 'Staff'), []), planFields(clinic, metaIn(clinic, 'Doctor'), [])],
    ['numbers of fields', plan('Car', ['list']), plan('Car', ['read'])],
    ['fields', plan('Owner', ['write']), plan('Owner', ['lender'])],
    ['fields of associated rows', plan('Car', ['drivers'], ['read']), plan('Car', ['drivers'], ['write'])],
  ])('with other %s differ', (_, one, other) => {
    expect(isSamePlan(one, other)).toBe(false);
    expect(isSamePlan(other, one)).toBe(false);
  });

  test('differ if one of several classes does', () => {
    const staff = planFields(clinic, metaIn(clinic, 'Staff'), ['read']);
    const [first, second] = [...staff.variants] as [[EntityMetadata, Field[]], [EntityMetadata, Field[]]];
    for (const fields of [second[1].toReversed(), [...second[1].slice(0, -1), second[1][0] as Field]]) {
      expect(isSamePlan(staff, { variants: new Map([first, [second[0], fields]]) })).toBe(false);
    }
  });
});

test('the key of a discriminator is its JSON name', () => {
  expect(discriminatorKey(metaIn(clinic, 'Doctor'))).toBe('type');
  expect(discriminatorKey(metaIn(garage, 'Car'))).toBeNull();
  const { properties, ...meta } = metaIn(clinic, 'Doctor');
  const renamed = { ...meta, properties: { ...properties, type: { ...properties.type, serializedName: 'kind' } } };
  expect(discriminatorKey(renamed as unknown as EntityMetadata)).toBe('kind');
  expect(discriminatorKey({ ...meta, properties: {} } as unknown as EntityMetadata)).toBe('type');
});

test('a plan knows the normalizers of its models, of its fields, and of what they embed', async () => {
  const mapper = await createMapper(database, {
    entities: [Engine, Petrol, Electric, Part, Badge, Size, Owner, Car],
    directory: '.',
  });
  const normalization: Normalization = { by: 'Short', schema: { type: 'string' }, normalize: String };
  const plan = (name: string, groups: string[], registeredFor: string | null) => {
    registerNormalizations(mapper, new Map(registeredFor ? [[registeredFor, normalization]] : []));
    return planFields(mapper, metaIn(mapper, name), groups);
  };
  expect(isNormalized(plan('Car', ['read'], null))).toBe(false);
  expect(plan('Car', ['read'], null)).not.toHaveProperty('normalizations');
  for (const place of ['Car', 'Car.plate', 'Car.owner', 'Owner', 'Owner.name', 'Part', 'Part.label'])
    expect([place, isNormalized(plan('Car', ['read'], place))]).toEqual([place, true]);
  for (const place of ['Car.secret', 'Badge', 'Owner.pin'])
    expect([place, isNormalized(plan('Car', ['read'], place))]).toEqual([place, false]);
  const car = plan('Car', ['list'], 'Car');
  expect([...(car.normalizations ?? [])]).toEqual([[metaIn(mapper, 'Car'), normalization]]);
  const fields = [...plan('Car', ['read'], 'Car').variants.values()].flat();
  const twin = fields.find(({ property }) => property === 'twin') as AssociationField;
  expect(isNormalized(twin.plan), 'a row that is cut to its reference').toBe(false);
  await mapper.close();
  registerNormalizations(clinic, new Map([['Doctor.specialty', normalization]]));
  expect(isNormalized(planFields(clinic, metaIn(clinic, 'Staff'), ['read'])), 'one of several classes').toBe(true);
  registerNormalizations(clinic, new Map());
});
