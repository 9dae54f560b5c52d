import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { startApplication } from '../../src/testing.ts';
import { databases, freshDatabase } from '../support/databases.ts';

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

describe.each(databases)('classes of one table on %s', (kind) => {
  test.each([true, false])(
    'show lazy columns and references to their abstract root (compiled reads: %s)',
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
