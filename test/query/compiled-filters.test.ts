import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { startApplication } from '../../src/testing.ts';
import { databases, freshDatabase } from '../support/databases.ts';

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

describe.each(databases)('filters that are on by default, on %s', (kind) => {
  test('hide the same rows from compiled reads as from entities', async () => {
    const database = await freshDatabase(kind);
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
      databaseUrl: database.url,
      seed: async (em: { create(...args: unknown[]): unknown }) => {
        const [shown, hidden] = [true, false].map((isActive) => em.create(Customer, { active: isActive, name: `${isActive}` }));
        const orders = [shown, hidden].map((customer, i) => em.create(Order, { text: `order ${i}`, customer }));
        for (const payer of [shown, hidden]) em.create(Line, { order: orders[0], payer });
        for (const isActive of [true, false]) em.create(Cat, { active: isActive });
      },
    };
    const paths = ['customers', 'orders', 'cats'].flatMap((name) => [`/${name}.json`, `/${name}/1.json`, `/${name}/2.json`]);
    const answers: unknown[][] = [];
    for (const compiledReads of [false, true]) {
      const app = await startApplication({ ...application, compiledReads } as never);
      try {
        const given: unknown[] = [];
        for (const path of paths) {
          const { status, text } = await app.request('GET', path);
          given.push([path, status, text]);
        }
        answers.push(given);
      } finally {
        await app.close();
      }
    }
    await database.drop();
    const [entities, compiled] = answers;
    expect(compiled).toEqual(entities);
    expect(entities?.map((answer) => (answer as unknown[])[1])).toEqual([200, 200, 404, 200, 200, 404, 200, 200, 404]);
  });
});
