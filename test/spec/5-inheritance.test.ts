import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type DenormalizationContext, Denormalizer, type ModelQuery } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Vehicle = defineEntity({
  name: 'Vehicle',
  abstract: true,
  discriminator: 'type',
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string(),
    name: p.string().groups('read'),
    manual: p.text().lazy().nullable().groups('read'),
    towedBy: () => p.manyToOne(Vehicle).nullable().groups('read', 'write'),
  },
});
const Car = defineEntity({ name: 'Car', extends: Vehicle, discriminatorValue: 'car', properties: {} });
const Boat = defineEntity({ name: 'Boat', extends: Vehicle, discriminatorValue: 'boat', properties: {} });

describe.each(databases)('single-table inheritance on %s', (kind) => {
  test.each([true, false])(
    'shows lazy columns and references to the abstract root (compiled reads: %s)',
    async (compiledReads) => {
      const database = await freshDatabase(kind);
      const app = await startApplication({
        app_main: {
          apis: {
            vehicle: {
              class: Vehicle,
              base_path: '/vehicles',
              actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
            },
          },
        },
        models: [Vehicle, Car, Boat],
        databaseUrl: database.url,
        compiledReads,
        seed: async (em) => {
          const car = em.create(Car, { name: 'car', manual: 'drive' });
          em.create(Boat, { name: 'boat', manual: 'row', towedBy: car });
        },
      });
      try {
        const { json } = await app.request('GET', '/vehicles.json');
        expect(json.results).toEqual([
          { id: 1, name: 'car', manual: 'drive', towedBy: null },
          { id: 2, name: 'boat', manual: 'row', towedBy: { id: 1 } },
        ]);
        const patched = await app.request('PATCH', '/vehicles/1.json', { json: { towedBy: { id: 2 } } });
        expect(patched.json).toEqual({ id: 1, name: 'car', manual: 'drive', towedBy: { id: 2 } });
        expect((await app.request('GET', '/vehicles/1.json')).text).toBe(patched.text);
      } finally {
        await app.close();
        await database.drop();
      }
    },
  );
});

const Owner = defineEntity({
  name: 'Owner',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Pet = defineEntity({
  name: 'Pet',
  abstract: true,
  discriminator: 'species',
  properties: {
    id: p.integer().primary().groups('read'),
    species: p.string().serializedName('pet_species').groups('read'),
    name: p.string().groups('read', 'write'),
    owner: () => p.manyToOne(Owner).nullable().groups('read', 'write'),
    keepers: () => p.manyToMany(Owner).groups('read', 'write'),
    friend: () => p.manyToOne(Pet).nullable().groups('read', 'write'),
    home: () => p.embedded([Cage, Basket]).nullable().groups('read', 'write'),
  },
});
const Dog = defineEntity({ name: 'Dog', extends: Pet, discriminatorValue: 'dog', properties: {} });
const Cat = defineEntity({ name: 'Cat', extends: Pet, discriminatorValue: 'cat', properties: {} });
const Home = defineEntity({
  name: 'Home',
  embeddable: true,
  abstract: true,
  discriminatorColumn: 'sort',
  properties: {
    sort: p.enum(['cage', 'basket']).serializedName('home_sort').groups('read'),
    owner: () => p.manyToOne(Owner).nullable().groups('read', 'write'),
  },
});
const Cage = defineEntity({
  name: 'Cage',
  embeddable: true,
  extends: Home,
  discriminatorValue: 'cage',
  properties: { bars: p.integer().groups('read', 'write') },
});
const Basket = defineEntity({
  name: 'Basket',
  embeddable: true,
  extends: Home,
  discriminatorValue: 'basket',
  properties: { cushion: p.string().groups('read', 'write') },
});

class OwnerDenormalizer extends Denormalizer {
  static override readonly properties = ['Pet.owner', 'Pet.keepers'];

  override async denormalize(value: unknown, _types: unknown, { em }: DenormalizationContext): Promise<object | null> {
    return typeof value === 'string' ? ((await em.findOne(Owner, { name: value })) as object | null) : null;
  }
}

describe.each(databases)('subclasses on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        apis: {
          pet: {
            class: Pet,
            base_path: '/pets',
            actions: {
              _index: { methods: { GET: true, POST: true } },
              _entity: { methods: { GET: true, PATCH: true, PUT: true } },
            },
          },
        },
      },
      models: [Owner, Pet, Dog, Cat, Home, Cage, Basket],
      denormalizers: [OwnerDenormalizer],
      databaseUrl: database.url,
      seed: async (em) => {
        em.create(Owner, { name: 'ann' });
        em.create(Dog, { name: 'rex' });
        em.create(Cat, { name: 'tom' });
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const ann = { id: 1, name: 'ann' };

  test('use the denormalizer of the parent class for associations, with any JSON', async () => {
    const json = { pet_species: 'cat', name: 'kit', owner: 'ann', keepers: ['ann'] };
    const created = await app.request('POST', '/pets.json', { json });
    expect([created.status, created.json.owner, created.json.keepers]).toEqual([201, ann, [ann]]);
    const patched = await app.request('PATCH', '/pets/1.json', { json: { owner: 'ann' } });
    expect([patched.status, patched.json.owner]).toEqual([200, ann]);
  });

  test('are described in OpenAPI with the denormalizer of the parent class', () => {
    const { components } = openApiDocument(app.application, { title: 'pets', version: '1' });
    const { schemas } = components as { schemas: Record<string, { properties: Record<string, object> }> };
    const read = { description: 'Read by code of the application.' };
    expect(schemas.DogPatch?.properties).toMatchObject({ owner: read, keepers: { items: read } });
  });

  test('accept references in an embeddable, even if a denormalized association has the same name', async () => {
    const home = { home_sort: 'cage', bars: 3, owner: { id: 1 } };
    const patched = await app.request('PATCH', '/pets/2.json', { json: { home } });
    expect([patched.status, patched.json.home?.owner]).toEqual([200, ann]);
    const refused = await app.request('PATCH', '/pets/2.json', { json: { home: { ...home, owner: 'ann' } } });
    expect(refused.status).toBe(422);
  });

  test('use the JSON name of the discriminator in references', async () => {
    const { json } = await app.request('GET', '/pets/2.json');
    expect(json).toMatchObject({ id: 2, pet_species: 'cat' });
    const friend = { id: json.id, pet_species: json.pet_species };
    const patched = await app.request('PATCH', '/pets/1.json', { json: { friend } });
    expect([patched.status, patched.json.friend]).toMatchObject([200, friend]);
    const other = await app.request('PATCH', '/pets/1.json', { json: { friend: { ...friend, pet_species: 'dog' } } });
    expect(other.status).toBe(400);
    const renamed = await app.request('PATCH', '/pets/1.json', { json: { friend: { id: 2, species: 'cat' } } });
    expect([renamed.status, renamed.json.detail]).toEqual([400, expect.stringContaining('"species"')]);
  });

  test.each([
    { home_sort: 'cage', bars: 3, owner: null },
    { home_sort: 'basket', cushion: 'soft', owner: null },
  ])('of embeddables are selected by the JSON name of the discriminator: %j', async (home) => {
    const patched = await app.request('PATCH', '/pets/1.json', { json: { home } });
    expect([patched.status, patched.json.home]).toEqual([200, home]);
    expect((await app.request('GET', '/pets/1.json')).json.home).toEqual(home);
    const { home_sort: sort, ...rest } = home;
    expect((await app.request('PATCH', '/pets/1.json', { json: { home: { ...rest, sort } } })).status).toBe(400);
    const { components } = openApiDocument(app.application, { title: 'pets', version: '1' });
    const { schemas } = components as { schemas: Record<string, { required: string[] }> };
    expect(schemas[sort === 'cage' ? 'CageCreate' : 'BasketCreate']?.required).toContain('home_sort');
  });
});

type Any = any;

const Ticket = defineEntity({
  name: 'Ticket',
  abstract: true,
  discriminator: 'kind',
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.integer().groups('read'),
    title: p.string().groups('read', 'write'),
    next: () => p.manyToOne(Ticket).nullable().groups('read'),
    linked: () => p.manyToMany(Ticket).groups('read'),
  },
});
const Single = defineEntity({ name: 'Single', extends: Ticket, discriminatorValue: 1, properties: {} });
const Group = defineEntity({
  name: 'Group',
  extends: Ticket,
  discriminatorValue: 2,
  properties: { seats: p.integer().groups('read', 'write') },
});
class TicketController extends ApiController {
  override customizeQuery(_: string, __: ApiRequest, query: ModelQuery<Any>) {
    query.andWhere({ title: { $ne: 'hidden' } });
  }
}

describe.each(databases)('numbers as discriminators on %s', (kind) => {
  test.each([true, false])(
    'choose the class of listed, embedded and written rows (compiled reads: %s)',
    async (compiledReads) => {
      const database = await freshDatabase(kind);
      const app = await startApplication({
        app_main: {
          apis: {
            ticket: {
              class: Ticket,
              base_path: '/tickets',
              controller: TicketController,
              formats: ['json', 'csv'],
              actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
            },
          },
        } as Any,
        models: [Ticket, Single, Group],
        controllers: [TicketController],
        databaseUrl: database.url,
        compiledReads,
        seed: async (em) => {
          const hidden = em.create(Single, { title: 'hidden' });
          const group = em.create(Group, { title: 'group', seats: 4, next: hidden, linked: [hidden] });
          em.create(Single, { title: 'single', next: group, linked: [hidden, group] });
        },
      });
      try {
        const single = { id: 3, kind: 1, title: 'single', next: { id: 2, kind: 2 }, linked: [{ id: 2, kind: 2 }] };
        const group = { id: 2, kind: 2, title: 'group', next: null, linked: [], seats: 4 };
        const { results } = (await app.request('GET', '/tickets.json')).json;
        expect(results).toMatchObject([group, single]);
        expect((await app.request('GET', '/tickets/3.json')).json).toMatchObject(single);
        const { text } = await app.request('GET', '/tickets.csv');
        expect(text).toContain('group');
        expect(text).toContain('single');
        const patched = await app.request('PATCH', '/tickets/2.json', { json: { kind: '2', seats: 5 } });
        expect([patched.status, patched.json]).toMatchObject([200, { ...group, seats: 5 }]);
        const created = await app.request('POST', '/tickets.json', { json: { kind: '1', title: 'new' } });
        expect([created.status, created.json]).toMatchObject([201, { kind: 1, title: 'new', next: null, linked: [] }]);
      } finally {
        await app.close();
        await database.drop();
      }
    },
  );

  test('can be an enumeration, for statements and for MikroORM', async () => {
    const Shape = defineEntity({
      name: 'Shape',
      abstract: true,
      discriminator: 'kind',
      properties: { id: p.integer().primary().groups('read'), kind: p.enum([1, 2]).groups('read') },
    });
    const Circle = defineEntity({ name: 'Circle', extends: Shape, discriminatorValue: 1, properties: {} });
    const Square = defineEntity({
      name: 'Square',
      extends: Shape,
      discriminatorValue: 2,
      properties: { side: p.integer().groups('read', 'write') },
    });
    class ShapeController extends ApiController<Any> {
      override beforeSerialize(): void {}
    }
    const database = await freshDatabase(kind);
    const actions = { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { PATCH: true } } };
    const app = await startApplication({
      app_main: {
        apis: {
          shape: { class: Shape, base_path: '/shapes', filters: { kind: ['eq'] }, actions },
          hooked: { class: Shape, base_path: '/hooked', controller: ShapeController, actions },
        },
      } as Any,
      models: [Shape, Circle, Square],
      controllers: [ShapeController],
      databaseUrl: database.url,
    });
    try {
      for (const [i, path] of ['/shapes', '/hooked'].entries()) {
        const created = await app.request('POST', `${path}.json`, { json: { kind: '2', side: 3 } });
        expect([created.status, created.json]).toEqual([201, { id: i + 1, kind: 2, side: 3 }]);
        const patched = await app.request('PATCH', `${path}/${i + 1}.json`, { json: { type: '2', side: 4 } });
        expect([patched.status, patched.json]).toEqual([200, { id: i + 1, kind: 2, side: 4 }]);
        expect((await app.request('POST', `${path}.json`, { json: { kind: '3' } })).status).toBe(400);
      }
      expect((await app.request('GET', '/shapes.json?kind=2')).json.count).toBe(2);
      expect((await app.request('GET', '/shapes.json?kind=1')).json.count).toBe(0);
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
