import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { ApiController, createServer } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Sale = defineEntity({
  name: 'Sale',
  properties: {
    id: p.integer().primary().groups('read'),
    city: p.string().groups('read', 'write'),
    amount: p.integer().groups('read', 'write'),
  },
});

const CitySales = defineEntity({
  name: 'CitySales',
  tableName: 'city_sales',
  view: true,
  expression: 'select min(id) as id, city, cast(sum(amount) as integer) as total from sale group by city',
  properties: {
    id: p.integer().primary().groups('read'),
    city: p.string().groups('read'),
    total: p.integer().groups('read'),
  },
});

const reading = { _index: { methods: { GET: true, HEAD: true } }, _entity: { methods: { GET: true, HEAD: true } } } as const;
const apis = {
  sale: { class: Sale, base_path: '/sale', actions: everything },
  cities: {
    class: CitySales,
    base_path: '/cities',
    actions: reading,
    filters: { total: ['gte'] },
    sort: ['total'],
    search: ['city'],
  },
} as const;

const models = [Sale, CitySales];

describe.each(databases)('views on %s', (kind) => {
  const running = useApplication(kind, {
    app_main: { apis },
    models,
    seed: (em) => {
      for (const [city, amount] of [
        ['Graz', 5],
        ['Linz', 7],
        ['Graz', 20],
      ] as const)
        em.create(Sale, { city, amount });
    },
  });
  const listed = async (path: string) => (await running.request('GET', path)).json.results;

  test('are listed, filtered, sorted and searched', async () => {
    const graz = { id: 1, city: 'Graz', total: 25 };
    const linz = { id: 2, city: 'Linz', total: 7 };
    expect(await listed('/cities.json')).toEqual([graz, linz]);
    expect(await listed('/cities.json?sort=total')).toEqual([linz, graz]);
    expect(await listed('/cities.json?total[gte]=10')).toEqual([graz]);
    expect(await listed('/cities.json?q=lin')).toEqual([linz]);
    expect((await running.request('GET', '/cities/2.json')).json).toEqual(linz);
    expect((await running.request('GET', '/cities/9.json')).status).toBe(404);
  });

  test('reject writing methods', async () => {
    expect((await running.request('DELETE', '/cities/2.json')).status).toBe(405);
    expect((await running.request('POST', '/cities.json', { json: {} })).status).toBe(405);
  });
});

describe('a writing method of a view', () => {
  class CityController extends ApiController {
    rebuild() {
      return { isRebuilt: true };
    }
  }

  const start = (actions: object) =>
    createServer({
      databaseUrl: 'sqlite::memory:',
      app_main: {
        apis: { cities: { class: CitySales, controller: CityController, base_path: '/cities', actions: actions as never } },
      },
      models,
      controllers: [CityController],
    });

  test('is a start error', async () => {
    await expect(start(everything)).rejects.toThrow(
      /app_main\.apis\.cities\.actions\._entity\.methods\.DELETE: CitySales is a view, which cannot be written; remove DELETE/,
    );
  });

  test('is allowed if a method of the controller handles it', async () => {
    const app = await start({
      ...reading,
      rebuild: { 'single-collection': 'collection', methods: { POST: true }, controller_action: 'rebuild' },
    });
    const response = await app.inject({ method: 'POST', url: '/cities/rebuild.json' });
    expect(response.statusCode).toBe(200);
    await app.close();
  });
});
