import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const active = { active: { name: 'active', cond: { active: true }, default: true } };
const Customer = defineEntity({
  name: 'Customer',
  filters: active,
  properties: { id: p.integer().primary().groups('read'), active: p.boolean(), name: p.string().groups('read') },
});
const Order = defineEntity({
  name: 'Order',
  tableName: 'customer_order',
  // the association is shown to nobody, and hides rows all the same
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read'),
    customer: () => p.manyToOne(Customer),
    lines: () => p.oneToMany(Line).mappedBy('order').groups('read'),
  },
});
const Line = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary().groups('read'),
    order: () => p.manyToOne(Order),
    payer: () => p.manyToOne(Customer),
  },
});
const Animal = defineEntity({
  name: 'Animal',
  discriminator: 'type',
  discriminatorValue: 'animal',
  filters: active,
  properties: { id: p.integer().primary().groups('read'), type: p.string(), active: p.boolean() },
});
const Cat = defineEntity({ name: 'Cat', extends: Animal, discriminatorValue: 'cat', properties: {} });

interface Filter {
  readonly cond: unknown;
  readonly default?: boolean;
}

/** What a path answers with and without compiled reads, and the statements of the latter. */
async function answersOf(kind: DatabaseKind, paths: readonly string[], application: object) {
  const database = await freshDatabase(kind);
  const answers: { path: string; status: number; text: string }[][] = [];
  const statements: string[][] = [];
  try {
    for (const compiledReads of [false, true]) {
      const app: TestApplication = await startApplication({ ...application, databaseUrl: database.url, compiledReads } as never);
      try {
        const given: (typeof answers)[number] = [];
        for (const path of paths) {
          app.statements.length = 0;
          const { status, text } = await app.request('GET', path);
          given.push({ path, status, text });
          if (compiledReads) statements.push([...app.statements]);
        }
        answers.push(given);
      } finally {
        await app.close();
      }
    }
  } finally {
    await database.drop();
  }
  const [entities, compiled] = answers as [(typeof answers)[number], (typeof answers)[number]];
  return { entities, compiled, statements };
}

/** The mapper's own reads quote the names that they give to tables. */
const isMappers = (sql: string) => /^select ([`"]|count\(.*\) as [`"])/.test(sql);

async function shops(kind: DatabaseKind, filters: Record<string, Filter>) {
  const Town = defineEntity({
    name: 'Town',
    properties: {
      id: p.integer().primary().groups('read'),
      open: p.boolean(),
      shops: () => p.oneToMany(Shop).mappedBy('town'),
    },
  });
  const Shop: any = defineEntity({
    name: 'Shop',
    filters: filters as never,
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read'),
      closedAt: p.datetime().nullable(),
      town: () => p.manyToOne(Town).nullable().groups('read'),
    },
  });
  const found = await answersOf(kind, ['/shops.json', '/shops.json?items_per_page=1&page=2', '/shops/1.json', '/shops/4.json'], {
    app_main: { apis: { shop: { class: Shop, base_path: '/shops', actions: { _index: null, _entity: null } } } },
    models: [Shop, Town],
    seed: async (em: { create(...args: unknown[]): unknown }) => {
      const [open, shut] = [true, false].map((isOpen) => em.create(Town, { open: isOpen }));
      em.create(Shop, { name: "baker's ? $1", town: open });
      em.create(Shop, { name: 'smith', town: shut });
      em.create(Shop, { name: 'tailor', town: open, closedAt: new Date(0) });
      em.create(Shop, { name: 'nobody', closedAt: new Date(1) });
    },
  });
  expect(found.compiled).toEqual(found.entities);
  const { count } = JSON.parse(found.compiled[0]?.text ?? '');
  return { ...found, count: count as number, isCompiled: !found.statements.flat().some(isMappers) };
}

describe.each(databases)('filters that are on by default, on %s', (kind) => {
  test('hide the same rows from compiled reads as from entities', async () => {
    const actions = { _index: null, _entity: null };
    const application = {
      app_main: {
        apis: {
          customer: { class: Customer, base_path: '/customers', actions },
          order: { class: Order, base_path: '/orders', actions },
          cat: { class: Cat, base_path: '/cats', actions },
        },
      },
      models: [Customer, Order, Line, Animal, Cat],
      seed: async (em: { create(...args: unknown[]): unknown }) => {
        const [shown, hidden] = [true, false].map((isActive) => em.create(Customer, { active: isActive, name: `${isActive}` }));
        const orders = [shown, hidden].map((customer, i) => em.create(Order, { text: `order ${i}`, customer }));
        for (const payer of [shown, hidden]) em.create(Line, { order: orders[0], payer });
        for (const isActive of [true, false]) em.create(Cat, { active: isActive });
      },
    };
    const paths = ['customers', 'orders', 'cats'].flatMap((name) => [`/${name}.json`, `/${name}/1.json`, `/${name}/2.json`]);
    const { compiled, entities } = await answersOf(kind, paths, application);
    expect(compiled).toEqual(entities);
    expect(entities.map(({ status }) => status)).toEqual([200, 200, 404, 200, 200, 404, 200, 200, 404]);
  });

  test.each<[string, Record<string, Filter>, number]>([
    ['a column', { own: { cond: { closedAt: null }, default: true } }, 2],
    ['a value that looks like a parameter', { own: { cond: { name: "baker's ? $1" }, default: true } }, 1],
    ['operators', { own: { cond: { $or: [{ name: { $like: 's%' } }, { closedAt: { $gt: new Date(0) } }] }, default: true } }, 2],
    ['an association', { own: { cond: { town: 1 }, default: true } }, 2],
    ['what an association points to', { own: { cond: { town: { open: true } }, default: true } }, 2],
    [
      'two filters, and one that is off',
      {
        closed: { cond: { closedAt: null }, default: true },
        placed: { cond: { town: { $ne: null } }, default: true },
        off: { cond: { id: 0 } },
      },
      2,
    ],
    ['nothing', { own: { cond: {}, default: true } }, 4],
  ])('are part of the compiled statements if they are fixed: %s', async (_name, filters, expected) => {
    const { count, isCompiled } = await shops(kind, filters);
    expect({ count, isCompiled }).toEqual({ count: expected, isCompiled: true });
  });

  test('are evaluated for each request if they are computed', async () => {
    let calls = 0;
    const once = { own: { cond: () => ({ name: { $ne: `${calls++}` } }), default: true } };
    expect((await shops(kind, once)).count).toBe(4);
    expect(calls).toBeGreaterThanOrEqual(8);
  });

  test('fall back to entities if they reach beyond to-one associations', async () => {
    const { count, isCompiled } = await shops(kind, { own: { cond: { town: { shops: { name: 'smith' } } }, default: true } });
    expect({ count, isCompiled }).toEqual({ count: 1, isCompiled: false });
  });

  test('of a subclass apply when its rows are read through the parent class', async () => {
    const Vehicle = defineEntity({
      name: 'Vehicle',
      discriminator: 'type',
      discriminatorValue: 'vehicle',
      filters: { usable: { name: 'usable', cond: { broken: false }, default: true } },
      properties: { id: p.integer().primary().groups('read'), type: p.string(), broken: p.boolean() },
    });
    const Car = defineEntity({
      name: 'Car',
      extends: Vehicle,
      discriminatorValue: 'car',
      filters: { sold: { name: 'sold', cond: { sold: false }, default: true } },
      properties: { sold: p.boolean().nullable(), note: p.string().nullable().lazy().groups('read') },
    });
    const actions = { _index: null, _entity: null };
    const { compiled, entities } = await answersOf(kind, ['/vehicles.json', '/cars.json', '/cars/2.json', '/vehicles/3.json'], {
      app_main: {
        apis: {
          vehicle: { class: Vehicle, base_path: '/vehicles', actions },
          car: { class: Car, base_path: '/cars', actions },
        },
      },
      models: [Vehicle, Car],
      seed: async (em: { create(...args: unknown[]): unknown }) => {
        em.create(Vehicle, { broken: false });
        for (const broken of [false, true])
          for (const sold of [false, true]) em.create(Car, { broken, sold, note: `${broken} ${sold}` });
      },
    });
    expect(compiled).toEqual(entities);
    expect(JSON.parse(compiled[1]?.text ?? '').count).toBe(1);
    // the list of vehicles has sold cars, with all their columns
    const { results } = JSON.parse(compiled[0]?.text ?? '') as { results: { note?: string }[] };
    expect(results.map(({ note }) => note)).toEqual([undefined, 'false false', 'false true']);
  });
});
